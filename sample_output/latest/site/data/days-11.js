blogData("days","11",[[12,2017,"秋の詩","entry/29.html"],[7,2021,"本日休業","entry/69.html"]]);
