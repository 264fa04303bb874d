blogData("day","0806",[["entry/13.html","2016年8月6日（土）","花火！！！","どーーーん。 ぱらぱらぱら。 もなかは押し入れから出てきませんでした","../../assets/df/dfa4545a588385ea378669a4f8dfaa4a663defb6ee274ede5997bda8e9a40f1b.png",false]]);
