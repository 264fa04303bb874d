blogData("list","unused",{"entries":[],"pictures":[["assets/4a/4aa2972a7c2b6221cd76b831cc9ab5b4cdcef26e84b2c49690e0d93832c4e3db.png",320,214,[],""]]});
