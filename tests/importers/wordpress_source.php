<?php
/**
 * A WordPress as the blog to back up: a large one, its truth from the database, and a night's changes.
 *
 *     php wordpress_source.php fill SITE POSTS FOLDER    fill an empty blog; FOLDER has pictures to upload
 *     php wordpress_source.php truth SITE                print the records of the database, as JSON
 *     php wordpress_source.php change SITE               edit one post, add one comment, delete one post; print their ids
 *     php wordpress_source.php trash SITE ID             put a post into the trash
 *     php wordpress_source.php set SITE NAME VALUE       set an option
 *     php wordpress_source.php user SITE NAME ROLE       make a user; print an application password
 */

[ , $mode, $site ] = $argv;
$_SERVER += array( 'HTTP_HOST' => 'new.example', 'REQUEST_METHOD' => 'GET', 'REQUEST_URI' => '/', 'SERVER_PROTOCOL' => 'HTTP/1.1' );
require "$site/wp-load.php";
require_once ABSPATH . 'wp-admin/includes/admin.php';
wp_set_current_user( 1 );
add_filter( 'wp_revisions_to_keep', '__return_zero' );

switch ( $mode ) {
	case 'fill':
		$wpdb->query( 'BEGIN' );
		wp_defer_term_counting( true );
		wp_defer_comment_counting( true );
		fill( (int) $argv[3], $argv[4] );
		wp_defer_term_counting( false );
		wp_defer_comment_counting( false );
		$wpdb->query( 'COMMIT' );
		break;
	case 'truth':
		echo wp_json_encode( truth() );
		break;
	case 'change':
		echo wp_json_encode( change() );
		break;
	case 'trash':
		wp_trash_post( (int) $argv[3] );
		break;
	case 'set':
		update_option( $argv[3], $argv[4] );
		break;
	case 'user':
		$made     = wp_insert_user( array( 'user_login' => $argv[3], 'user_pass' => 'secret', 'role' => $argv[4], 'user_email' => "$argv[3]@new.example" ) );
		$password = WP_Application_Passwords::create_new_application_password( $made, array( 'name' => 'reader' ) );
		echo WP_Application_Passwords::chunk_password( $password[0] );
}

function made( $found ) {
	if ( is_wp_error( $found ) ) {
		fwrite( STDERR, $found->get_error_message() . "\n" );
		exit( 1 );
	}
	return is_array( $found ) ? $found['term_id'] : $found;
}

function upload( $path, $parent, $title, $alt, $caption ) {
	$bits = wp_upload_bits( basename( $path ), null, file_get_contents( $path ), '2019/07' );
	$id   = made( wp_insert_attachment(
		array( 'post_title' => $title, 'post_mime_type' => mime_content_type( $path ), 'guid' => $bits['url'], 'post_excerpt' => $caption, 'post_status' => 'inherit' ),
		$bits['file'], $parent, true
	) );
	wp_update_attachment_metadata( $id, wp_generate_attachment_metadata( $id, $bits['file'] ) );
	update_post_meta( $id, '_wp_attachment_image_alt', $alt );
	return $id;
}

function fill( $posts, $folder ) {
	$travel = made( wp_insert_term( '旅行 & 散歩', 'category', array( 'slug' => 'tabi' ) ) );
	$asia   = made( wp_insert_term( 'Asia', 'category', array( 'parent' => $travel ) ) );
	$japan  = made( wp_insert_term( '日本', 'category', array( 'parent' => $asia, 'slug' => 'nihon' ) ) );
	$food   = made( wp_insert_term( 'Food', 'category' ) );
	$writer = made( wp_insert_user( array( 'user_login' => 'mika', 'display_name' => '美香', 'user_pass' => 'secret', 'role' => 'author', 'user_email' => 'mika@new.example' ) ) );
	$reader = made( wp_insert_user( array( 'user_login' => 'reader', 'display_name' => 'Reader', 'user_pass' => 'secret', 'role' => 'subscriber', 'user_email' => 'reader@new.example' ) ) );
	$images = array();
	foreach ( glob( "$folder/*" ) as $number => $path ) {
		$images[] = upload( $path, 0, "写真 $number", "海の写真 \"$number\" & 空", "Caption $number" );
	}
	$pattern  = made( wp_insert_post( array( 'post_type' => 'wp_block', 'post_status' => 'publish', 'post_title' => '型', 'post_content' => '<!-- wp:paragraph --><p>共通の文</p><!-- /wp:paragraph -->' ) ) );
	$statuses = array( 7 => 'draft', 17 => 'private', 27 => 'future', 37 => 'pending' );
	for ( $number = 1; $number <= $posts; $number++ ) {
		$japanese = 0 === $number % 2;
		$status   = $statuses[ $number % 50 ] ?? 'publish';
		$date     = 'future' === $status ? '2031-05-06 07:08:09' : gmdate( 'Y-m-d H:i:s', 1262304000 + 86400 * $number );
		$image    = $images[ $number % count( $images ) ];
		$text     = $japanese ? "今日は海へ行きました。写真を{$number}枚撮りました。" : "We went to the sea, and took $number pictures. It's \"fine\" & well...";
		$picture  = sprintf( '<!-- wp:image {"id":%1$d} --><figure class="wp-block-image"><img src="%2$s" alt="" class="wp-image-%1$d"/></figure><!-- /wp:image -->', $image, wp_get_attachment_url( $image ) );
		$content  = "<!-- wp:paragraph -->\n<p>$text</p>\n<!-- /wp:paragraph -->\n\n";
		if ( 0 === $number % 3 ) {
			$content .= $picture;
		}
		if ( 0 === $number % 5 ) {
			$content .= "\n<!-- wp:more -->\n<!--more" . ( 0 === $number % 10 ? ' 続きを読む' : '' ) . "-->\n<!-- /wp:more -->\n\n<!-- wp:paragraph -->\n<p>続き $number</p>\n<!-- /wp:paragraph -->";
		}
		if ( 0 === $number % 8 ) {
			$content .= sprintf( "\n[gallery ids=\"%d,%d\"]\n", $images[0], $images[1] );
		}
		if ( 0 === $number % 11 ) {
			$content = "Classic text $number\n\nwith <b>two</b> paragraphs";
		}
		$noted = 13 === $number % 26;
		if ( $noted ) {
			$content .= "<!-- wp:paragraph -->\n<p>文<sup data-fn=\"fn-a\" class=\"fn\"><a href=\"#fn-a\" id=\"fn-a-link\">1</a></sup></p>\n<!-- /wp:paragraph -->\n\n<!-- wp:block {\"ref\":$pattern} /-->\n\n<!-- wp:footnotes /-->";
		}
		$id = made( wp_insert_post( wp_slash( array(
			'post_title'    => $japanese ? "海の日記 その{$number} & \"more\"" : "Diary $number: it's <em>fine</em>",
			'post_content'  => $content,
			'post_status'   => $status,
			'post_date'     => $date,
			'post_author'   => 0 === $number % 4 ? $writer : 1,
			'post_excerpt'  => 0 === $number % 6 ? "A summary of $number" : '',
			'post_name'     => $japanese ? "海の日記-$number" : "diary-$number",
			'post_password' => 44 === $number % 100 ? 'himitsu' : '',
			'post_category' => array_values( array_filter( array( 0 === $number % 3 ? $japan : 0, 0 === $number % 4 ? $food : 0, $number % 7 ? 0 : $travel ) ) ),
			'tags_input'    => $number % 2 ? array( 'sea', "tag $number" ) : array( '海', 'sea', '空 & 雲' ),
			'comment_status' => $number % 9 ? 'open' : 'closed',
			'meta_input'     => $noted ? array( 'footnotes' => wp_json_encode( array( array( 'id' => 'fn-a', 'content' => "注の<b>本文</b> $number" ) ) ) ) : array(),
		) ), true ) );
		if ( 0 === $number % 4 ) {
			set_post_thumbnail( $id, $image );
		}
		for ( $each = 0; $each < $number % 5; $each++ ) {
			$parent = comment( $id, $number, 'Hanako', "コメント $number-$each", 1, 'comment', 0, 0 );
			comment( $id, $number, 'owner', "ありがとう $each", 1, 'comment', $parent, 1 );
		}
		if ( 0 === $number % 20 ) {
			comment( $id, $number, 'Waiting', 'please wait', 0, 'comment', 0, 0 );
			comment( $id, $number, 'Spam', 'buy <a href="https://spam.example/">this</a>', 'spam', 'comment', 0, 0 );
			comment( $id, $number, 'Reader', 'I am registered', 1, 'comment', 0, $reader );
			comment( $id, $number, 'Other blog', '[&#8230;] a link [&#8230;]', 1, 'pingback', 0, 0 );
			comment( $id, $number, 'Old friend', 'a trackback', 1, 'trackback', 0, 0 );
			wp_trash_comment( comment( $id, $number, 'Gone', 'in the trash', 1, 'comment', 0, 0 ) );
		}
	}
	$about = made( wp_insert_post( array( 'post_type' => 'page', 'post_title' => 'このブログについて', 'post_name' => 'about', 'post_status' => 'publish', 'post_content' => '<!-- wp:paragraph --><p>About</p><!-- /wp:paragraph -->' ), true ) );
	for ( $number = 1; $number <= 11; $number++ ) {
		made( wp_insert_post( array( 'post_type' => 'page', 'post_title' => "Page $number", 'post_parent' => $number % 2 ? $about : 0, 'post_status' => 3 === $number ? 'draft' : 'publish', 'post_content' => "<p>Page text $number</p>" ), true ) );
	}
	foreach ( array_slice( $images, 2, 2 ) as $image ) {
		comment( $image, 5, 'Hanako', 'a comment on a picture', 1, 'comment', 0, 0 );
	}
	wp_trash_post( made( wp_insert_post( array( 'post_title' => 'In the trash', 'post_status' => 'publish', 'post_content' => 'gone' ), true ) ) );
}

function comment( $post, $number, $name, $text, $approved, $type, $parent, $user ) {
	static $count = 0;
	return made( wp_insert_comment( wp_slash( array(
		'comment_post_ID'      => $post,
		'comment_author'       => $name,
		'comment_author_email' => strtolower( strtok( $name, ' ' ) ) . '@mail.example',
		'comment_author_url'   => 'Hanako' === $name ? 'https://hanako.example/' : '',
		'comment_content'      => $text,
		'comment_approved'     => $approved,
		'comment_type'         => $type,
		'comment_parent'       => $parent,
		'user_id'              => $user,
		'comment_date'         => gmdate( 'Y-m-d H:i:s', 1400000000 + 60 * ++$count ),
	) ) ) );
}

function rows( $query ) {
	global $wpdb;
	return $wpdb->get_results( $query, ARRAY_A );
}

function truth() {
	global $wpdb;
	$entries = rows( "SELECT ID AS id, post_title AS title, post_name AS slug, post_status AS status, post_type AS type, post_content AS content, post_excerpt AS excerpt, post_date AS date, post_password AS password FROM $wpdb->posts WHERE post_type IN ('post', 'page') AND post_status NOT IN ('auto-draft', 'trash') ORDER BY ID" );
	foreach ( $entries as &$entry ) {
		$names = static fn( $terms ) => array_map( static fn( $term ) => html_entity_decode( $term->name ), is_array( $terms ) ? $terms : array() );
		$paths = array();
		foreach ( 'post' === $entry['type'] ? wp_get_post_categories( $entry['id'], array( 'fields' => 'all' ) ) : array() as $term ) {
			$above   = array_reverse( get_ancestors( $term->term_id, 'category' ) );
			$paths[] = array_map( static fn( $id ) => html_entity_decode( get_term( $id )->name ), array( ...$above, $term->term_id ) );
		}
		$entry['categories'] = $paths;
		$entry['tags']       = $names( get_the_tags( $entry['id'] ) );
		$entry['author']     = get_the_author_meta( 'display_name', get_post( $entry['id'] )->post_author );
		$entry['featured']   = (string) get_the_post_thumbnail_url( $entry['id'], 'full' );
		$entry['link']       = get_permalink( $entry['id'] );
	}
	return array(
		'entries'  => $entries,
		'comments' => rows( "SELECT comment_ID AS id, comment_post_ID AS post, comment_parent AS parent, comment_approved AS approved, comment_type AS type, comment_author AS name, comment_author_email AS email, comment_content AS content, user_id AS user FROM $wpdb->comments ORDER BY comment_ID" ),
		'files'    => rows( "SELECT ID AS id FROM $wpdb->posts WHERE post_type = 'attachment' ORDER BY ID" ),
	);
}

function change() {
	$posts = get_posts( array( 'post_status' => 'publish', 'numberposts' => 3, 'orderby' => 'ID', 'order' => 'ASC', 'offset' => 40, 'has_password' => false ) );
	wp_update_post( wp_slash( array( 'ID' => $posts[0]->ID, 'post_content' => '<p>Edited</p>' ) ) );
	$thread  = get_comments( array( 'number' => 1, 'status' => 'approve', 'parent' => 0, 'type' => 'comment', 'order' => 'ASC' ) )[0];
	$comment = comment( $thread->comment_post_ID, 1, 'New', 'a new reply', 1, 'comment', $thread->comment_ID, 0 );
	while ( get_comments( array( 'post_id' => $posts[1]->ID, 'count' => true, 'status' => 'any' ) ) ) {
		foreach ( get_comments( array( 'post_id' => $posts[1]->ID, 'status' => 'any' ) ) as $each ) {
			wp_delete_comment( $each->comment_ID, true );
		}
	}
	wp_delete_post( $posts[1]->ID, true );
	return array( 'edited' => $posts[0]->ID, 'comment' => $comment, 'deleted' => $posts[1]->ID );
}
