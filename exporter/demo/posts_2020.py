"""Posts of 2020 and 2021: a quiet spring, the shop by post, letters, a song."""

from __future__ import annotations

from exporter.demo.posts import Post

POSTS: tuple[Post, ...] = (
    Post(
        52,
        "2020-01-07 08:00:00",
        "七草がゆ",
        "<p>せり、なずな、ごぎょう、はこべら、ほとけのざ、すずな、すずしろ。<br>言えました。六つ目で毎年つまるのに。</p>",
        "料理",
    ),
    Post(
        53,
        "2020-04-10 22:05:00",
        "しばらく静かにします",
        """<p>かもめ書房は、しばらくシャッターを半分だけ開けることになりました。</p>
<p>半分のところから手を入れて、本を渡します。澄江さんいわく、</p>
<blockquote><p>潜水艦みたいで、なかなかいいわよ。</p></blockquote>
<p>本の配達もはじめました。自転車で行けるところまで、坂の上は気合いで。</p>
<p>みなさん、どうぞお元気で。海はいつもどおりです。</p>""",
        updated="2020-04-12 09:00:00",
    ),
    Post(
        54,
        "2020-04-18 10:00:00",
        "配達の手引き（自分用）",
        """<p><b>坂の上：</b>合計＝距離÷気合い。佐々木さん宅の犬（コロ）は右から近づくこと。暗証番号は書かない。書かないってば。</p>
<ul><li>月：坂の上</li><li>水：漁協の裏</li><li>金：岬口（電車）</li></ul>""",
        "本",
        private=True,
        comments_open=False,
    ),
    Post(
        55,
        "2020-05-02 18:30:00",
        "窓から見える海の色",
        """<p><img src="{{mado}}" alt="窓から見た夕焼け"></p>
<p>どこへも行けないので、同じ窓から毎日海の色をつけています。</p>
<table>
<tr><th>日</th><th>色</th><th>ひとこと</th></tr>
<tr><td>四月二十七日</td><td style="background:#8fb3c7">　　</td><td>水色の絵の具を洗ったあとの水</td></tr>
<tr><td>二十八日</td><td style="background:#5d7f8c">　　</td><td>ソーダ味</td></tr>
<tr><td>二十九日</td><td style="background:#3d5a66">　　</td><td>雨の日の鯖</td></tr>
<tr><td>三十日</td><td style="background:#e2a07a">　　</td><td>桃のゼリー</td></tr>
</table>
<p>おなかがすいていたようです。</p>""",
    ),
    Post(
        56,
        "2020-06-14 16:30:00",
        "在宅勤務の上司",
        """<p><img src="{{monaka20}}" alt="こちらを見るもなか"></p>
<p>家で伝票を整理していると、上司が机に乗ってきます。</p>
<p>「それは急ぎですか」「いえ」「ではわたしをなでなさい」</p>
<p>評価はきびしいです。</p>""",
        "もなか",
    ),
    Post(57, "2020-07-01 12:00:00", "", "<p>題が思いつきませんでした。トマトがおいしいです。</p>"),
    Post(
        59,
        "2020-08-15 20:00:00",
        "祖母の日記のこと",
        """<p>母から小包がとどきました。祖母の日記、昭和三十八年の一年分です。</p>
<p>「六月三日　晴。海苔を炊く。<span style="font-weight:bold">『もう一度海が見たい』</span>と書いて消す。」</p>
<p>消したところが、いちばんよく読めました。</p>
<p>この記事の日付は、祖母がその一行を書いた日にしておきます。ブログだとそういうことができるのですね。</p>""",
        period="1963-06-03 00:00:00",
        updated="2020-08-16 21:14:09",
    ),
    Post(
        60,
        "2020-10-04 19:00:00",
        "【レシピ】秋刀魚の炊き込みごはん: 簡単・早い・おいしい",
        """<h4>■材料（三合）</h4>
<table border="1"><tr><td>米</td><td>3合<td>秋刀魚<td>2尾<tr><td>しょうが<td>1かけ<td>しょうゆ<td>大さじ2½<tr><td>酒<td>大さじ2<td>塩<td>少々</table>
<h4>■作り方</h4>
<ol start="1"><li>秋刀魚に塩をふって、<b>皮がぱりっとするまで</b>焼く。</li><li>全部入れて炊く。</li><li>骨をとってまぜる。<b>ここは急がない</b>。</li></ol>
<p>炊いているあいだ、もなかが炊飯器の前で正座していました。</p>""",
        "料理",
    ),
    Post(
        61,
        "2020-12-24 23:55:00",
        "聖夜の町",
        """<p><img src="{{yoru}}" alt="夜の町の灯り"></p><p>窓のあかりを数えながら帰ってきました。<br>五十二。<br>去年より、ひとつ多い。</p>""",
    ),
    Post(
        62,
        "2021-02-14 16:00:00",
        "ココアのケーキと、十七の言い訳",
        """<p><img src="{{cake2}}" alt="ココアのケーキ"></p>
<p>焼きすぎました。言い訳をします。</p>
<p>一　電話が鳴った。<br>二　出たら間違い電話だった。<br>三　でもいい人だった。<br>四　天気の話をした。<br>五　むこうは雪だそうです。<br>……以下十七まで続きますが、ケーキはおいしくいただきました。</p>""",
        "料理",
    ),
    Post(
        64,
        "2021-04-01 12:30:00",
        "五年目の桜",
        """<p><img src="{{sakura21}}" alt="五年目の桜"><img src="{{sakura21b}}" alt="同じ桜"></p>
<p>同じ写真を二枚のせてしまいましたが、きれいなのでそのままにします <img src="https://emoji.example.jp/e/kirakira.gif" alt="(きらきら)" width="16" height="16"></p>
<p><a href="https://shiodamari.blog.example.jp/Entry/9/">一年目</a>と見くらべてみてください。枝がひとつ増えました。源さんの白髪も。</p>""",
        "散歩",
    ),
    Post(
        65,
        "2021-06-20 10:00:00",
        "A note for visitors from abroad",
        """<p>Hello! Somebody wrote to me from Portugal (yes, really) to ask how to get to our little bookshop, so here is the way.</p>
<ol><li>Take the <i>Namioto Line</i> to Namioto. It is one carriage long; you can't miss it, unless you do, and then the next one is in 58&nbsp;minutes.</li><li>Walk towards the sea. Stop before the sea.</li><li>The shop with the yellow boots outside is us.</li></ol>
<p>We have one shelf of English books &mdash; mostly mysteries, and one "Fishing Knots, Illustrated". The cat on the counter isn't ours; he's <b>visiting</b>. He has been visiting since 2017.</p>""",
        "本",
        name="how-to-find-us",
    ),
    Post(
        66,
        "2021-08-22 14:00:00",
        "無題",
        """<P>暑い<BR>暑い<BR>暑い<P>海に入った<BR>涼しい<P>出た<BR>暑い""",
    ),
    Post(
        67,
        "2021-09-12 21:00:00",
        "歌をつくりました「坂道のうた」",
        """<p><span style="font-size:small">作詞：しおね　作曲：伊吹さん（水産試験場）</span></p>
<p>　♪　坂のうえから　海をみて<br>　　　坂のしたから　空をみる<br>　　　どちらも青い　どちらも青い<br>　　　まんなかあたりで　ひとやすみ</p>
<p><embed src="https://video.example.com/sound/sakamichi.mp3" width="200" height="30" autostart="false"></p>
<p>録音に、もなかの<b>「にゃ」</b>が入っています。伊吹さんは「そこが一番いい」と言っています。</p>""",
        "詩",
    ),
    Post(
        69,
        "2021-11-07 16:00:00",
        "本日休業",
        """<p><img src="{{ocha}}" alt="ほうじ茶"></p><p>今度は風邪ではありません。お茶を飲んで、本を読むための休業です。</p>""",
    ),
)
