blogData("index","",{"chunks":[["84",5],["9",13],["32",8],["43",3],["48",32]],"shards":[],"orphans":true});
