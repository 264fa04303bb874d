blogData("list","undated",{"entries":[["84","","うるう日の、あるはずのない日付","日記",0,"",0]],"pictures":[]});
