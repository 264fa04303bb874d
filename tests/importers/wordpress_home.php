<?php
/**
 * WordPress as a home that is read back: what a test wants of it beside wordpress.php.
 *
 *     php wordpress_home.php open SITE URL       make the blog answer at an address; print its owner's application password
 *     php wordpress_home.php fill SITE FILE      put posts with their comments into it, from JSON
 *     php wordpress_home.php spoil SITE FILE     do harm to posts, as JSON lists it
 *     php wordpress_home.php author SITE NAME    make a user with a shown name
 */

[ , $mode, $site, $given ] = $argv;
$_SERVER += array( 'HTTP_HOST' => 'new.example', 'REQUEST_METHOD' => 'GET', 'REQUEST_URI' => '/', 'SERVER_PROTOCOL' => 'HTTP/1.1' );
define( 'WP_IMPORTING', true );
require "$site/wp-load.php";
require_once ABSPATH . 'wp-admin/includes/admin.php';
wp_set_current_user( 1 );

if ( 'open' === $mode ) {
	update_option( 'home', $given );
	update_option( 'siteurl', $given );
	update_option( 'permalink_structure', '/%postname%/' );
	$made = WP_Application_Passwords::create_new_application_password( 1, array( 'name' => 'reader' ) );
	echo WP_Application_Passwords::chunk_password( $made[0] );
	exit( 0 );
}
if ( 'author' === $mode ) {
	$made = wp_insert_user( array( 'user_login' => 'author', 'display_name' => $given, 'nickname' => $given, 'user_pass' => 'secret', 'role' => 'author', 'user_email' => 'author@new.example' ) );
	exit( is_wp_error( $made ) ? 1 : 0 );
}
$asked = json_decode( file_get_contents( $given ), true, 64, JSON_THROW_ON_ERROR );
$wpdb->query( 'BEGIN' );
wp_defer_term_counting( true );
wp_defer_comment_counting( true );
array_map( 'fill' === $mode ? 'fill' : 'spoil', $asked );
wp_defer_term_counting( false );
wp_defer_comment_counting( false );
$wpdb->query( 'COMMIT' );

function fill( $post ) {
	$post['post_category'] = array( wp_create_category( $post['category'] ) );
	$made                  = wp_insert_post( wp_slash( $post ), true );
	foreach ( $post['comments'] as $comment ) {
		wp_insert_comment( wp_slash( array( 'comment_post_ID' => $made ) + $comment ) );
	}
}

function spoil( $harm ) {
	$post = get_page_by_path( $harm['slug'], OBJECT, 'post' )->to_array();
	switch ( $harm['kind'] ) {
		case 'missing':
			return wp_delete_post( $post['ID'], true );
		case 'comment_held':
			return wp_set_comment_status( get_comments( array( 'post_id' => $post['ID'] ) )[0]->comment_ID, 'hold' );
		case 'picture_missing':
			return unlink( ABSPATH . $harm['file'] );
		case 'text':
			return change( $post, array( 'post_content' => mb_substr( $post['post_content'], 0, 400 ) ) );
		case 'date':
			$later = gmdate( 'Y-m-d H:i:s', strtotime( $post['post_date'] . ' UTC' ) + 9 * HOUR_IN_SECONDS );
			return change( $post, array( 'post_date' => $later, 'post_date_gmt' => get_gmt_from_date( $later ), 'edit_date' => true ) );
		case 'category':
			return wp_set_post_categories( $post['ID'], array() );
		case 'slug':
			return change( $post, array( 'post_name' => 'p' . $post['ID'] ) );
		case 'status':
			return change( $post, array( 'post_status' => 'draft' ) );
		case 'duplicate':
			unset( $post['ID'], $post['post_name'], $post['guid'] );
			return wp_insert_post( wp_slash( $post ), true );
		case 'link_on_old_host':
			return change( $post, array( 'post_content' => $post['post_content'] . $harm['link'] ) );
	}
}

function change( $post, $members ) {
	return wp_update_post( wp_slash( array( 'ID' => $post['ID'] ) + $members ), true );
}
