blogData("day","0910",[["entry/27.html","2017年9月10日（日）","本日のもなか","以上です。","../../assets/e4/e49519de85e31a21de813c6d75815fd4e7d5acc78ab72d26d15b11ddf9030fc6.png",false]]);
