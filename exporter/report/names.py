"""Words that a report keeps: names of HTML and CSS, usual values of attributes, endings of files, public hosts. Pure.

They say how a text is made and nothing of what it says. Everything else of four characters or more is scrambled.
"""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TAGS: Final = _words(
    "a abbr acronym address applet area article aside audio b base basefont bdi bdo bgsound big blink blockquote body "
    "br button canvas caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em "
    "embed fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i "
    "iframe image img input ins isindex kbd label legend li link listing main map mark marquee math menu meta meter "
    "multicol nav nextid nobr noembed noframes noscript object ol optgroup option output p param picture plaintext "
    "pre progress q rb rbc rp rt rtc ruby s samp script search section select slot small source spacer span strike "
    "strong style sub summary sup svg table tbody td template textarea tfoot th thead time title tr track tt u ul var "
    "video wbr xmp path g circle rect line"
)
ATTRIBUTES: Final = _words(
    "abbr accept action align alink allow allowfullscreen alt async autocomplete autofocus autoplay axis background "
    "bgcolor border bordercolor cellpadding cellspacing char charset checked cite class classid clear clip code "
    "codebase color cols colspan compact content contenteditable controls coords data data-lang data-language data- "
    "original data-src datetime defer dir direction disabled download enctype face for form frame frameborder headers "
    "height hidden href hreflang hspace http-equiv id ismap itemprop kind label lang language link loading longdesc "
    "loop lowsrc marginheight marginwidth max maxlength media method min multiple muted name nohref noresize noshade "
    "nowrap onclick onerror onload onmouseout onmouseover open placeholder poster preload property readonly "
    "referrerpolicy rel required rev reversed role rows rowspan rules scheme scope scrolling selected shape size "
    "sizes span src srcdoc srcset start step style summary tabindex target text title translate type usemap valign "
    "value valuetype version vlink vspace width wmode wrap xmlns aria-label aria-hidden scrollamount behavior"
)
ADDRESS_ATTRIBUTES: Final = _words(
    "action background cite codebase data data-original data-src href longdesc lowsrc poster src usemap"
)
VALUES: Final = _words(
    "auto left right center middle top bottom justify baseline absmiddle absbottom texttop all none both ltr rtl "
    "_blank _self _top _parent blank nofollow noopener noreferrer external ugc sponsored footnote noteref stylesheet "
    "true false yes no on off get post text hidden submit checkbox radio button image password reset file lazy eager "
    "async anonymous metadata circle disc square decimal hover alternate scroll slide transparent opaque black white "
    "red green blue yellow orange purple pink gray grey silver navy teal olive maroon lime aqua fuchsia brown gold "
    "darkred darkblue darkgreen lightgrey row col rowgroup colgroup rect poly default application javascript css "
    "plain html video audio picture emoji icon thumbnail button language lang code highlight php python ruby bash "
    "shell http https www ftp mailto tel data about file feed line skype base64 png jpeg gif webp svg xml"
)
CSS: Final = _words(
    "align alpha arial auto avoid background baseline block bold bolder border both bottom box break caption cell "
    "center clear clip collapse color column container content cursive cursor dashed decoration default direction "
    "display dotted double family filter fixed flex float font gothic grid groove height hidden horizontal important "
    "indent index inherit initial inline inset italic justify large larger layout left letter line list lighter "
    "margin max medium middle min monospace mode none normal nowrap oblique opacity orientation outline outset "
    "overflow overline overlap padding page pointer position relative absolute static sticky repeat ridge right rgb "
    "rgba rotate round row rule sans scroll serif shadow size small smaller solid space spacing start end static "
    "strong style sub super table text thin thick through top transform transparent transition type underline unset "
    "upright url uppercase lowercase capitalize vertical visible visibility weight white width word wrap wide writing "
    "zoom emphasis ruby dot sesame filled open over under after before color black white red green blue yellow orange "
    "purple pink gray grey silver navy meiryo verdana helvetica tahoma"
)
CSS_UNITS: Final = _words("px em ex rem pt pc cm mm in ch vw vh vmin vmax deg ms s")
ENDINGS: Final = _words(
    "jpg jpeg jpe png gif bmp webp svg avif heic ico tif tiff mp3 mp4 m4a m4v mov avi wmv mpg mpeg ogg wav flv 3gp "
    "txt csv pdf doc docx xls xlsx ppt pptx zip lzh rar html htm xhtml php cgi asp aspx jsp css js xml rss rdf atom "
    "swf mid"
)
PATH_WORDS: Final = _words(
    "entry entries archive archives category comment comments page user users file files image images img media "
    "upload uploads photo photos blog diary post posts tag feed embed watch player status index default static assets "
    "wp-content video videos maps map search items item"
)
PUBLIC_HOSTS: Final = (
    "youtube.com", "youtu.be", "youtube-nocookie.com", "vimeo.com", "nicovideo.jp", "nico.ms", "twitter.com", "x.com",
    "instagram.com", "facebook.com", "google.com", "google.co.jp", "goo.gl", "amazon.co.jp", "amazon.com", "amzn.to",
    "soundcloud.com", "spotify.com", "tiktok.com", "dailymotion.com", "gist.github.com", "hatena.ne.jp",
    "wikipedia.org",
)  # fmt: skip
"""Hosts that many blogs embed, whose players and pages the program knows."""
SERVICE_HOSTS: Final = ("api.shinobi.jp", "blog.shinobi.jp", "blog.cnobi.jp")
"""Hosts of services that the program has a profile for; of a blog's own the first label is scrambled."""
TOP_LABELS: Final = _words(
    "com net org info biz jp co ne or ac go ed gr lg ad us uk eu de fr tv me io cc to ly gl be www www2 example "
    "invalid localhost test"
)
LINE_WORDS: Final = _words(
    "TITLE AUTHOR DATE STATUS CATEGORY BASENAME BODY EXTENDED EXCERPT KEYWORDS COMMENT PING URL IP EMAIL TAGS ALLOW "
    "CONVERT BREAKS PRIMARY UNIQUE IMAGE"
)
"""First words of a line that the format MT gives a meaning to, followed by a colon."""
MARKUP_WORDS: Final = _words("DOCTYPE CDATA doctype html public w3c dtd transitional strict endif xml")

KEPT: Final = frozenset(
    word.lower()
    for words in (
        TAGS, ATTRIBUTES, VALUES, CSS, CSS_UNITS, ENDINGS, PATH_WORDS, TOP_LABELS, LINE_WORDS, MARKUP_WORDS,
        (part for host in (*PUBLIC_HOSTS, *SERVICE_HOSTS) for part in host.split(".")),
    )
    for name in words
    for word in (name, *name.split("-"))
)  # fmt: skip
"""All of them, in lower case, also the parts of those with hyphens."""
