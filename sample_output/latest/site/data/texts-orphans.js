blogData("texts","orphans",[["comments/orphans.html","","","",0,"",[["108","まめこ","あれ、この記事、消えてしまいましたか？"]]]]);
