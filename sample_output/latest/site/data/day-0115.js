blogData("day","0115",[["entry/18.html","2017年1月15日（日）","雪","積もった。","../../assets/14/141dec2af55e46ed54a3d54c69a610451b0caeffa0c1f2eaf642718740748c3b.png",false]]);
