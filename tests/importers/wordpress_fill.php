<?php
/**
 * A blog as its owner fills it, for tests that read WordPress' own export.
 *
 *     php wordpress_fill.php fill SITE     make authors, categories, tags, posts, pages, pictures and comments
 *     php wordpress_fill.php edit SITE     change one post
 *     php wordpress_fill.php list SITE     print what the blog has, as JSON, from WordPress' own functions
 *     php wordpress_fill.php export SITE   print the blog as its own export writes it
 */

[ , $mode, $site ] = $argv;
$_SERVER += array( 'HTTP_HOST' => 'new.example', 'REQUEST_METHOD' => 'GET', 'REQUEST_URI' => '/', 'SERVER_PROTOCOL' => 'HTTP/1.1' );
define( 'WP_IMPORTING', true );
require "$site/wp-load.php";
require_once ABSPATH . 'wp-admin/includes/admin.php';
wp_set_current_user( 1 );

if ( 'fill' === $mode ) {
	$wpdb->query( 'BEGIN' );
	fill();
	$wpdb->query( 'COMMIT' );
} elseif ( 'edit' === $mode ) {
	$edited = get_posts( array( 'name' => 'post-7', 'post_status' => 'any' ) )[0];
	wp_update_post( wp_slash( array( 'ID' => $edited->ID, 'post_content' => '書き直した本文です。' ) ) );
} elseif ( 'list' === $mode ) {
	echo wp_json_encode( listed() );
} else {
	require_once ABSPATH . 'wp-admin/includes/export.php';
	export_wp();
}

function made( $post, $terms = array() ) {
	$id = wp_insert_post( wp_slash( $post + array( 'post_author' => 1, 'post_status' => 'publish' ) ), true );
	if ( is_wp_error( $id ) ) {
		fwrite( STDERR, $id->get_error_message() );
		exit( 1 );
	}
	foreach ( $terms as $taxonomy => $values ) {
		wp_set_object_terms( $id, $values, $taxonomy );
	}
	return $id;
}

function fill() {
	update_option( 'permalink_structure', '/%year%/%monthnum%/%postname%/' );
	$GLOBALS['wp_rewrite']->init();
	$author = wp_insert_user( array( 'user_login' => 'kaki', 'user_pass' => 'x', 'user_email' => 'kaki@new.example', 'display_name' => '書き手 & 友', 'role' => 'author' ) );
	$parent = 0;
	$categories = array();
	foreach ( array( '旅', '京都', '寺 & 神社' ) as $name ) {
		$parent       = wp_insert_category( array( 'cat_name' => $name, 'category_parent' => $parent ) );
		$categories[] = $parent;
	}
	$english = wp_insert_category( array( 'cat_name' => 'Travel', 'category_nicename' => 'travel' ) );
	$picture = made( array( 'post_type' => 'attachment', 'post_title' => '夕方の海', 'post_status' => 'inherit', 'post_mime_type' => 'image/jpeg', 'post_content' => '説明', 'post_excerpt' => 'キャプション', 'guid' => 'http://new.example/wp-content/uploads/2023/05/umi.jpg' ) );
	update_post_meta( $picture, '_wp_attached_file', '2023/05/umi.jpg' );
	update_post_meta( $picture, '_wp_attachment_metadata', array( 'width' => 1600, 'height' => 1200, 'file' => '2023/05/umi.jpg', 'filesize' => 12345, 'sizes' => array() ) );
	update_post_meta( $picture, '_wp_attachment_image_alt', '海 & 空' );
	for ( $n = 1; $n <= 300; $n++ ) {
		$when   = sprintf( '%04d-%02d-%02d %02d:%02d:00', 2010 + $n % 14, 1 + $n % 12, 1 + $n % 28, $n % 24, $n % 60 );
		$status = array( 17 => 'draft', 34 => 'private', 51 => 'pending', 68 => 'trash' )[ $n ] ?? 'publish';
		$post   = array(
			'post_title'    => 0 === $n % 2 ? "Post $n: \"Tom & Jerry\" <b>bold</b>" : "記事 $n 「海」",
			'post_content'  => body( $n, $picture ),
			'post_excerpt'  => 0 === $n % 5 ? "抜粋 $n" : '',
			'post_date'     => $when,
			'post_status'   => $status,
			'post_name'     => 0 === $n % 9 ? "日本語の名前-$n" : "post-$n",
			'post_author'   => 0 === $n % 10 ? $author : 1,
			'post_password' => 85 === $n ? 'himitsu' : '',
		);
		if ( 102 === $n ) {
			$post = array( 'post_date' => '2090-01-01 00:00:00', 'post_status' => 'future' ) + $post;
		}
		$id = made( $post, array(
			'category' => array_map( 'intval', 0 === $n % 3 ? array( $categories[2], $english ) : array( $categories[ $n % 2 ] ) ),
			'post_tag' => 0 === $n % 4 ? array( '紅葉', "tag $n" ) : array(),
		) );
		if ( 0 === $n % 25 ) {
			set_post_thumbnail( $id, $picture );
		}
		if ( 0 === $n % 50 ) {
			stick_post( $id );
		}
		if ( 0 === $n % 6 ) {
			thread( $id, $n );
		}
	}
	$above = made( array( 'post_type' => 'page', 'post_title' => 'プロフィール', 'post_name' => 'about', 'post_content' => "自己紹介\n\nです", 'post_date' => '2011-01-01 00:00:00' ) );
	for ( $n = 1; $n <= 11; $n++ ) {
		made( array( 'post_type' => 'page', 'post_title' => "Page $n", 'post_name' => "page-$n", 'post_content' => "<p>page $n</p>", 'post_parent' => $above, 'post_date' => sprintf( '2012-01-01 00:00:%02d', $n ), 'post_status' => 4 === $n ? 'private' : 'publish' ) );
	}
	$menu = wp_create_nav_menu( 'menu' );
	wp_update_nav_menu_item( $menu, 0, array( 'menu-item-title' => 'home', 'menu-item-url' => 'http://new.example/', 'menu-item-status' => 'publish' ) );
	made( array( 'post_type' => 'wp_block', 'post_title' => 'reusable', 'post_content' => '<!-- wp:paragraph --><p>reused</p><!-- /wp:paragraph -->' ) );
	elsewhere( $picture );
}

/** Make posts whose content is in other records or in a custom field. */
function elsewhere( $picture ) {
	$made = fn( $title, $content, $more = array() ) => made( $more + array( 'post_title' => $title, 'post_content' => $content, 'post_date' => '2024-01-01 00:00:00' ) );
	$text = fn( $text ) => "<!-- wp:paragraph -->\n<p>$text</p>\n<!-- /wp:paragraph -->\n\n";
	$note = fn( $id, $n ) => $text( "文 $n<sup data-fn=\"$id\" class=\"fn\"><a href=\"#$id\" id=\"$id-link\">$n</a></sup>" );
	$one  = wp_generate_uuid4();
	$two  = wp_generate_uuid4();
	$mark = "<!-- wp:more -->\n<!--more-->\n<!-- /wp:more -->\n\n";
	$id   = $made( '脚注', $note( $one, 1 ) . $mark . $note( $two, 2 ) . "<!-- wp:footnotes /-->\n\n" . $text( '後' ) );
	update_post_meta( $id, 'footnotes', wp_slash( wp_json_encode( array( array( 'content' => '注の<strong>本文</strong>', 'id' => $one ), array( 'content' => '二つ目 "引用"', 'id' => $two ) ) ) ) );

	$inner   = $made( '中', $text( '中の型' ) . "[gallery ids=\"$picture\"]", array( 'post_type' => 'wp_block' ) );
	$bound   = '<!-- wp:paragraph {"metadata":{"bindings":{"content":{"source":"core/pattern-overrides"}},"name":"N"}} -->' . "\n<p>元の文</p>\n<!-- /wp:paragraph -->";
	$pattern = $made( '型', $text( '共通の文' ) . $bound . "<!-- wp:block {\"ref\":$inner} /-->", array( 'post_type' => 'wp_block' ) );
	wp_update_post( wp_slash( array( 'ID' => $inner, 'post_content' => get_post( $inner )->post_content . "<!-- wp:block {\"ref\":$pattern} /-->" ) ) );
	$draft = $made( '下書き', $text( '秘密' ), array( 'post_type' => 'wp_block', 'post_status' => 'draft' ) );
	$made( '同期パターン', $text( '前' ) . "<!-- wp:block {\"ref\":$pattern} /-->\n\n<!-- wp:block {\"ref\":$draft} /-->\n\n<!-- wp:block {\"ref\":$pattern,\"content\":{\"N\":{\"values\":{\"content\":\"別の<strong>文</strong>\"}}}} /-->" );

	$attached = $made( 'ギャラリー', "前\n\n[gallery order=\"DESC\"]\n\n後" );
	$files    = array();
	foreach ( array( '山' => 2, '川' => 1, '空' => 3 ) as $name => $order ) {
		$file = $made( $name, '', array( 'post_type' => 'attachment', 'post_status' => 'inherit', 'post_mime_type' => 'image/jpeg', 'post_excerpt' => "$name の <strong>題</strong>", 'post_parent' => $attached, 'menu_order' => $order, 'guid' => "http://new.example/wp-content/uploads/2023/05/$name.jpg" ) );
		update_post_meta( $file, '_wp_attached_file', "2023/05/p$order.jpg" );
		update_post_meta( $file, '_wp_attachment_metadata', array( 'width' => 1600, 'height' => 1200, 'file' => "2023/05/p$order.jpg", 'filesize' => 12345, 'sizes' => array() ) );
		update_post_meta( $file, '_wp_attachment_image_alt', "$name の絵" );
		$files[] = $file;
	}
	$made( '選んだ画像', "前\n\n[gallery ids=\"$files[2],$picture,$files[0]\" columns=\"2\" link=\"file\"]\n\n後 [[gallery]] [unknown a=\"1\"]" );
	$made( '他の記事の画像', "[gallery id=\"$attached\" exclude=\"$files[1]\" orderby=\"title\"]" );
}

function thread( $post, $n ) {
	$parent = 0;
	foreach ( array( '1', '1', '0', 'spam', 'trash' ) as $k => $approved ) {
		$parent = wp_insert_comment( wp_slash( array(
			'comment_post_ID' => $post, 'comment_author' => 1 === $k ? 'owner' : "読者 $k & co", 'comment_author_email' => "reader$k@mail.example",
			'comment_author_url' => 0 === $k ? 'http://reader.example/?a=1&b=2' : '', 'comment_date' => sprintf( '2023-05-%02d 10:%02d:%02d', 1 + $n % 28, $n % 60, $k ),
			'comment_content' => "コメント $n-$k\n二行目 <b>太字</b> & \"引用\"", 'comment_approved' => $approved, 'comment_parent' => $k < 3 ? $parent : 0,
			'user_id' => 1 === $k ? 1 : 0, 'comment_type' => 2 === $k ? 'pingback' : 'comment',
		) ) );
	}
}

function body( $n, $picture ) {
	$classic = array(
		"一行目\n二行目 <b>太字</b>\n\n二つ目の段落 $n\n\n<ul>\n<li>一</li>\n<li>二\n改行</li>\n</ul>\nおわり",
		"<h2>見出し $n</h2>\n本文 & 記号 &lt; 5\n<blockquote>引用\n二行\n\n別の段落</blockquote>\n[caption id=\"attachment_$picture\" align=\"aligncenter\" width=\"300\"]<a href=\"http://new.example/x\"><img src=\"http://new.example/wp-content/uploads/2023/05/umi.jpg\" alt=\"海\" /></a> 海の写真 <em>夕方</em>[/caption]\n\n<pre>code\n\n  kept $n</pre>\n文",
		"lead $n\n<!--more 続きを読む-->\n続き\n<div>\na\n\nb\n</div>\n<table><tr><td>x\ny</td></tr></table>",
		"control \x0B char and ]]> end $n \u{1F600}\n\n<script>var a = 1;\n\nvar b;</script>\n\nhttps://www.youtube.com/watch?v=abc$n\n\n<em>a\nb</em>",
	);
	$blocks = "<!-- wp:paragraph -->\n<p>ブロック $n &amp; <strong>太字</strong><br>二行目</p>\n<!-- /wp:paragraph -->\n\n<!-- wp:image {\"id\":$picture} -->\n<figure class=\"wp-block-image\"><img src=\"http://new.example/wp-content/uploads/2023/05/umi.jpg\" alt=\"\"/><figcaption>図</figcaption></figure>\n<!-- /wp:image -->\n\n<!-- wp:more -->\n<!--more-->\n<!-- /wp:more -->\n\n<!-- wp:list -->\n<ul><!-- wp:list-item -->\n<li>一</li>\n<!-- /wp:list-item --></ul>\n<!-- /wp:list -->";
	return 0 === $n % 5 ? $blocks : $classic[ $n % 4 ];
}

function listed() {
	global $wpdb;
	add_theme_support( 'html5', array( 'caption', 'gallery' ) );
	remove_filter( 'the_content', array( $GLOBALS['wp_embed'], 'autoembed' ), 8 );
	foreach ( array( 'wptexturize', 'convert_smilies', 'capital_P_dangit', 'wp_filter_content_tags', 'prepend_attachment' ) as $filter ) {
		remove_filter( 'the_content', $filter, has_filter( 'the_content', $filter ) );
	}
	$found = array( 'posts' => array(), 'comments' => array() );
	foreach ( $wpdb->get_results( "SELECT * FROM {$wpdb->posts} WHERE post_type IN ('post','page','attachment','wp_block','nav_menu_item') AND post_status != 'auto-draft' ORDER BY ID" ) as $row ) {
		$GLOBALS['post'] = get_post( $row->ID );
		setup_postdata( $GLOBALS['post'] );
		$GLOBALS['more'] = 1;
		$categories      = array();
		foreach ( wp_get_object_terms( $row->ID, 'category' ) as $term ) {
			$path = array_reverse( array_map( fn( $id ) => get_term( $id )->name, get_ancestors( $term->term_id, 'category', 'taxonomy' ) ) );
			$categories[] = array( 'name' => $term->name, 'parents' => $path, 'slug' => $term->slug );
		}
		$found['posts'][ $row->ID ] = array(
			'title'      => $row->post_title,
			'content'    => $row->post_content,
			'rendered'   => 'post' === $row->post_type || 'page' === $row->post_type ? apply_filters( 'the_content', $row->post_content ) : '',
			'excerpt'    => $row->post_excerpt,
			'date'       => $row->post_date,
			'date_gmt'   => $row->post_date_gmt,
			'modified'   => $row->post_modified,
			'status'     => $row->post_status,
			'password'   => $row->post_password,
			'type'       => $row->post_type,
			'name'       => $row->post_name,
			'link'       => get_permalink( $row->ID ),
			'author'     => get_the_author_meta( 'display_name', $row->post_author ),
			'categories' => $categories,
			'tags'       => wp_list_pluck( wp_get_object_terms( $row->ID, 'post_tag' ), 'name' ),
			'featured'   => (string) get_the_post_thumbnail_url( $row->ID, 'full' ),
			'sticky'     => is_sticky( $row->ID ),
			'url'        => (string) wp_get_attachment_url( $row->ID ),
			'alt'        => (string) get_post_meta( $row->ID, '_wp_attachment_image_alt', true ),
		);
	}
	foreach ( $wpdb->get_results( "SELECT * FROM {$wpdb->comments} ORDER BY comment_ID" ) as $row ) {
		$found['comments'][ $row->comment_ID ] = (array) $row;
	}
	return $found;
}
