"""The kanji that people type for one another: old forms, forms of names and places, forms of the JIS standards. Pure.

A key has the first kanji of a group for all of them. NFKC joins the CJK compatibility ideographs, so no group
has one. Kanji that only some words exchange (脇 and 脅, 着 and 著, 坂 and 阪, 御 and 禦) have no group. Nor do the
simplified forms of Chinese.

The facts come from these tables:

- the joyo kanji of 2010 with their forms in the Kangxi dictionary, and the kanji for names of 2017.
- JIS X 0208 with the pairs exchanged in 1983, JIS X 0213:2004, and the simple forms of 表外漢字字体表 (2000).
- Unihan 14: ``kJinmeiyoKanji``, ``kZVariant``, ``kSemanticVariant``.
- EquivalentUnifiedIdeograph of Unicode 14, for the radicals that stand for kanji in text from PDF files.
"""

from __future__ import annotations

from typing import Final

_OLD_FORMS: Final = """
万萬 与與 両兩两 並竝 乗乘 乱亂 亀龜⻲ 予豫 争爭 亘亙 亜亞 仏佛 仮假 会會 伝傳 体體躰軆 余餘 併倂 価價 倹儉 偽僞 児兒
党黨 内內 円圓 写寫冩 処處 刹剎 剣劍劔劒剱釼 剤劑 剥剝 剰剩 励勵 労勞 効效 勅敕 勧勸 勲勳勛 区區 医醫 単單 即卽 却卻
厠廁 厳嚴 参參叅 双雙 収收 叙敍敘 台臺 叱𠮟 号號 呉吳 告吿 呪咒 唇脣 営營 嘱囑 団團 囲圍 図圖 国國囯圀 圏圈 園薗 圧壓
堕墮 塁壘 塩鹽 増增 壊壞 壌壤 壮壯 声聲 壱壹 売賣 変變 奥奧 奨奬獎 娯娛 嬢孃 学學斈 宝寶寳寚 実實 富冨 寛寬 寝寢 対對
寿壽 専專 将將 尚尙 尽盡 届屆 属屬 岳嶽 峡峽 巌巖 巣巢 巻卷 帯帶 帰歸皈 庁廳廰 広廣 廃廢 弁瓣辨辯辧 弐貳弍貮 弥彌 弾彈
当當 彦彥 径徑 従從从 徳德悳 徴徵 応應 恋戀 恒恆 恵惠 悦悅 悩惱 悪惡 惨慘 慎愼 懐懷 戦戰 戯戲 戸戶户 戻戾 払拂 抜拔
択擇 担擔 拝拜 拠據 拡擴 挙擧舉 挟挾 挿插揷 捜搜 掲揭 揺搖 摂攝 撃擊 教敎 数數 斉齊斎齋⻫ 断斷 旧舊 昼晝 晋晉 晩晚
暁曉 暦曆 曽曾 条條 来來 枢樞 査查 栄榮 桜櫻 桟棧 検檢 楼樓 楽樂 概槪 様樣 権權 横橫 欠缺 欧歐 歓歡 歩步 歯齒⻭ 歳歲嵗
歴歷 残殘 殴毆 殻殼 毎每 気氣 没沒 沢澤 浄淨净 浅淺 浜濱濵 涙淚泪 涼凉 清淸 渇渴 済濟 渉涉 渋澁澀 渓溪谿 温溫 湾灣
湿濕溼 満滿 滝瀧 滞滯 潜潛濳 瀬瀨 灯燈 炉爐 点點 為爲 焼燒 犠犧 状狀 独獨 狭狹 猟獵 猫貓 献獻 獣獸 瓶甁 産產 画畫
畳疊疉疂 疎疏踈 痴癡 発發 盗盜 県縣 真眞 研硏 砕碎 礼禮 祢禰 禄祿 禅禪 秘祕 称稱 税稅 稲稻 穂穗 穏穩 穣穰 窃竊
竜龍龒⻯ 粋粹 粛肅 粧妝 糸絲 経經 絵繪 絶絕 継繼 続續 総總縂 緑綠 緒緖 縁緣 縄繩 縦縱 繊纖纎 缶罐 群羣 聡聰聦 聴聽
胆膽 脚腳 脱脫 脳腦 臓臟 舎舍 舗舖鋪 艶艷豔豓 芸藝 茎莖 荘莊 蔵藏 薫薰 薬藥 虚虛 虫蟲 蚕蠶 蛍螢 蛮蠻 衛衞 装裝 褒襃
覇霸 覚覺 覧覽 観觀 触觸 訳譯 証證 誉譽 説說 読讀 謡謠 譲讓 豊豐 賛贊 践踐 転轉 軽輕 辞辭 逓遞 遅遲 郎郞 郷鄉鄕 酔醉
醸釀 釈釋 鉄鐵銕鐡 鉱鑛砿礦 銭錢 鋭銳 鋳鑄 錬鍊 録錄 鎮鎭 関關 閲閱 闘鬪鬥鬬鬭 陥陷 険險 随隨 隠隱 隷隸 雑雜襍 霊靈灵
青靑⻘ 静靜 頬頰 頼賴 顔顏 顕顯 飲飮 餅餠 駅驛 駆驅駈 騒騷 験驗騐 髄髓 髪髮 鶏鷄雞 麦麥⻨ 麺麪麵 黄黃⻩ 黒黑 黙默 齢齡
"""

_NAMES_AND_PLACES: Final = """
高髙 崎﨑嵜碕㟢𥔎 辺邊邉 吉𠮷 島嶋嶌 峰峯 柳栁桺 桑桒 橋槗𣘺 土圡𡈽 館舘 渕淵渊 鶴靏靍 曹曺 昇曻 昂昻 寧寍 脇𦚰 喜㐂
瑶瑤 凛凜 尭堯 槙槇 遥遙 煕熙熈凞 晃晄 萌萠 野埜 桧檜 桝枡 栃杤 磯礒 秋穐秌龝 刈苅 旗籏 梅楳槑 姉姊 哲喆 兎兔 船舩
京亰 年秊 風凬 刀釖
"""

_JIS_FORMS: Final = """
侭儘 唖啞 嘘噓 噛嚙囓 填塡 呑吞 倶俱 妍姸 屏屛 并幷 痩瘦 繋繫 鯵鰺 鴬鶯 蛎蠣 撹攪 竃竈灶 潅灌 諌諫 頚頸 蕊蘂蕋 靭靱韌
賎賤 壷壺 砺礪 梼檮 涛濤 迩邇 蝿蠅 薮藪 篭籠 掻搔 掴摑 箪簞 躯軀 祷禱 鹸鹼 焔焰燄 頴穎 嚢囊 騨驒 莱萊 醗醱 溌潑 顛顚
蝋蠟 鴎鷗 麹麴 醤醬 蒋蔣 繍繡綉 蝉蟬 弯彎 沪濾 芦蘆 麸麩 涜瀆 巓巔 讃讚 輌輛 翻飜 皐皋 楡榆 茘荔 葱蔥 贋贗 痺痹 暨曁
"""

_SAME_MEANING: Final = """
廼迺 乾乹 事亊 仙僊 個个 侠俠 僭僣 偬傯 冒冐 冤寃 冪羃 凡凢 函凾 刊刋 剋尅 剪翦 劫刧刼 勗勖 匆匇怱悤 卒卆 卮巵 厦廈
厨廚 厩廐廏 叡睿 和咊 詠咏 啓啟 喩喻 嘗甞 嘩譁 嚏嚔 器噐 回囘囬 垂埀 埒埓 堤隄 場塲 墻牆 壜罎 壥廛 奇竒 奘弉 妊姙
婿壻聟 嫻嫺 宜冝 寇冦 峨峩 嵯嵳 巡廵 帚箒 幇幫帮 床牀 庵菴 廻迴 強强 彝彜 往徃 怪恠 恥耻 惧懼 慚慙 憩憇 懺懴 戛戞 抛拋
抬擡 附坿 捏揑 掛挂 搗擣 撑撐 携攜擕 攅攢 旛旙 明朙 映暎 昏昬 暖煖 曠昿 曳曵 朗朖 朶朵 村邨 杯盃 柵栅 桿杆 棄弃 棋棊
椁槨 楕橢 檗蘗 檳梹 殱殲 歿殁 毀毁 毘毗 氷冰 決决 沈沉 沖冲 況况 汚污汙 涅湼 凄淒 涌湧 減减 準凖 溯遡 潴瀦 闊濶 災灾
炯烱 煙烟 煮煑 熔鎔 犂犁 猪豬 獏貘 珍珎 琅瑯 瑙碯 町甼 界畍 略畧 畝畆畞 留畄 疱皰 痒癢 癒瘉 睹覩 砧碪 碍礙 稚穉稺 稟禀
稜棱 穀糓 窓窗窻牕 窯窰 竪豎 筍笋 箏筝 箆篦 籤籖 粘黏 粽糉 糧粮 糾糺 紙帋 線綫 綿緜 纏纒 罰罸 羈覊 羨羡 翠翆 翺翱 聯聨
胭臙 脈脉 腸膓 臘臈 臥卧 艫舮 苺莓 茲玆 菱蔆 萼蕚 蒂蔕 蓋盖葢 蘇蘓 虱蝨 蜋螂 蟹蠏 蠹蠧 衆眾 衽袵 裏裡 解觧 歌謌 訛譌
諡謚 譖譛 讐讎 貌皃貎 質貭 賢贒 贓賍 走赱 趁趂 跡蹟迹 躪躙 軟輭 輒輙 轟軣 辣辢 迪廸 逃迯 酬酧 釜釡 鉤鈎 鉢缽 銹鏽 鋤耡
鍬鍫 鎌鐮 鎖鏁鎻 鑑鑒 鑽鑚 閉閇 間閒 鬧閙 鬨閧 陰隂 隣鄰 雁鴈 鞋鞵 韭韮 韲齏 韻韵 頤頥 頽頹 飄飃 飆飈 駁駮 駄馱 髯髥
鬢鬂 鬱欝 鰐鱷 鰮鰛 鰲鼇 鳧鳬 鴉鵶 鴟鵄 鵞鵝 鼈鱉 鼓皷鼔 麤麁麄 麼麽
"""

_RADICALS: Final = """
民⺠ 虎⻁ 西⻄ 角⻆ 長⻑ 食⻝ 骨⻣ 鬼⻤
"""

GROUPS: Final = tuple(f"{_OLD_FORMS}{_NAMES_AND_PLACES}{_JIS_FORMS}{_SAME_MEANING}{_RADICALS}".split())
"""Kanji that share a key, the usual form first; no kanji is in two groups."""
USUAL_FORMS: Final = {variant: group[0] for group in GROUPS for variant in group[1:]}
