<?php
/**
 * WordPress itself as the home that is moved to, on an SQLite database.
 *
 *     php wordpress.php install SITE          make an empty blog of an unpacked WordPress
 *     php wordpress.php read SITE FILE        read a WXR file into it; print what was refused, as JSON
 *     php wordpress.php insert SITE FILE      make posts of titles, bodies, continuations and, where given, dates, names, authors, categories, tags, excerpts and comments in JSON, as its old importers do
 *     php wordpress.php write SITE            print the blog as WordPress' own export writes it
 *     php wordpress.php rows SITE             print its posts with their terms, authors, comments and featured pictures, as JSON
 *     php wordpress.php addresses SITE        print the addresses of all posts, as JSON, in the order of their numbers
 *     php wordpress.php fields SITE           print what its themes show of titles and names, as JSON: a page for each post, with each field in an element i
 *     php wordpress.php render SITE           print what its themes show of each post's body, as JSON, in the order of their numbers
 *
 * The importer is a plugin that no package archive carries. Reading therefore goes through the functions of WordPress
 * that the plugin calls, in its order and with its rules for what is known already; whatever a function or a column of
 * the database would refuse is refused.
 */

[ , $mode, $site ] = $argv;
$_SERVER += array( 'HTTP_HOST' => 'new.example', 'REQUEST_METHOD' => 'GET', 'REQUEST_URI' => '/', 'SERVER_PROTOCOL' => 'HTTP/1.1' );
if ( 'install' === $mode ) {
	define( 'WP_INSTALLING', true );
}
define( 'WP_IMPORTING', true );
require "$site/wp-load.php";
require_once ABSPATH . 'wp-admin/includes/admin.php';

if ( 'install' === $mode ) {
	require_once ABSPATH . 'wp-admin/includes/upgrade.php';
	install();
	exit( 0 );
}
wp_set_current_user( 1 );
if ( 'read' === $mode ) {
	$reading = new Reading();
	$reading->file( $argv[3] );
	echo wp_json_encode( $reading->refused );
} elseif ( 'insert' === $mode ) {
	insert( json_decode( file_get_contents( $argv[3] ) ) );
} elseif ( 'render' === $mode ) {
	echo wp_json_encode( rendered() );
} elseif ( 'fields' === $mode ) {
	echo wp_json_encode( array_map( 'fields', all_posts() ) );
} elseif ( 'rows' === $mode ) {
	echo wp_json_encode( array_map( 'row', get_posts( array( 'post_type' => array( 'post', 'page' ), 'post_status' => 'any', 'numberposts' => -1 ) ) ) );
} elseif ( 'addresses' === $mode ) {
	echo wp_json_encode( array_map( 'get_permalink', all_posts() ) );
} else {
	require_once ABSPATH . 'wp-admin/includes/export.php';
	export_wp();
}

function wp_new_blog_notification() {}

function install() {
	wp_install( 'new home', 'owner', 'owner@new.example', true, '', 'secret' );
	update_option( 'timezone_string', 'Asia/Tokyo' );
	foreach ( get_posts( array( 'post_type' => 'any', 'post_status' => 'any', 'numberposts' => -1 ) ) as $post ) {
		wp_delete_post( $post->ID, true );
	}
}

function insert( $posts ) {
	foreach ( $posts as $row ) {
		list( $title, $body, $more ) = $row;
		$content = '' === $more ? $body : "$body\n<!--more-->\n$more";
		$post    = array( 'post_title' => $title, 'post_content' => $content, 'post_status' => 'publish', 'post_author' => 1 );
		$post   += isset( $row[3] ) ? array( 'post_date' => $row[3]->date, 'post_name' => $row[3]->name, 'post_excerpt' => $row[3]->excerpt ?? '' ) : array();
		if ( isset( $row[3]->author ) ) {
			$login               = md5( $row[3]->author );
			$post['post_author'] = username_exists( $login ) ?: wp_insert_user( array( 'user_login' => $login, 'user_pass' => 'secret', 'display_name' => $row[3]->author ) );
		}
		$made = wp_insert_post( wp_slash( $post ) );
		wp_set_post_tags( $made, $row[3]->tags ?? '' );
		if ( ! empty( $row[3]->categories ) ) {
			wp_create_categories( $row[3]->categories, $made );
		}
		foreach ( $row[3]->comments ?? array() as $each ) {
			wp_insert_comment( wp_slash( array(
				'comment_post_ID'    => $made,
				'comment_author'     => $each->author,
				'comment_author_url' => $each->url,
				'comment_date'       => $each->date,
				'comment_content'    => $each->text,
				'comment_type'       => $each->kind,
			) ) );
		}
	}
}

function all_posts() {
	return get_posts( array( 'post_type' => 'post', 'post_status' => 'any', 'numberposts' => -1, 'orderby' => 'ID', 'order' => 'ASC' ) );
}

function path_of( $term ) {
	return $term->parent ? array( ...path_of( get_term( $term->parent ) ), $term->name ) : array( $term->name );
}

function comment_row( $comment ) {
	$parent = $comment->comment_parent ? get_comment_meta( $comment->comment_parent, '_blog_cm_id', true ) : '';
	return array(
		'id'       => get_comment_meta( $comment->comment_ID, '_blog_cm_id', true ),
		'parent'   => $parent,
		'approved' => $comment->comment_approved,
		'type'     => $comment->comment_type,
		'email'    => $comment->comment_author_email,
		'url'      => $comment->comment_author_url,
		'user'     => $comment->user_id ? get_userdata( $comment->user_id )->display_name : '',
	);
}

function row( $post ) {
	$picture  = get_post_thumbnail_id( $post );
	$comments = get_comments( array( 'post_id' => $post->ID, 'status' => 'any', 'orderby' => 'comment_ID', 'order' => 'ASC' ) );
	$spam     = get_comments( array( 'post_id' => $post->ID, 'status' => 'spam' ) );
	return array(
		'title'      => $post->post_title,
		'type'       => $post->post_type,
		'status'     => $post->post_status,
		'date'       => $post->post_date,
		'name'       => urldecode( $post->post_name ),
		'excerpt'    => $post->post_excerpt,
		'author'     => get_userdata( $post->post_author )->display_name,
		'categories' => array_map( 'path_of', wp_get_post_terms( $post->ID, 'category' ) ),
		'tags'       => wp_get_post_terms( $post->ID, 'post_tag', array( 'fields' => 'names' ) ),
		'picture'    => $picture ? basename( get_attached_file( $picture ) ) : '',
		'alt'        => $picture ? get_post_meta( $picture, '_wp_attachment_image_alt', true ) : '',
		'comments'   => array_map( 'comment_row', array( ...$comments, ...$spam ) ),
	);
}

function rendered() {
	$shown = array();
	foreach ( all_posts() as $each ) {
		$GLOBALS['post'] = $each;
		setup_postdata( $each );
		$GLOBALS['more'] = 1;
		$shown[]         = apply_filters( 'the_content', get_the_content() );
	}
	return $shown;
}

function fields( $post ) {
	$GLOBALS['post'] = $post;
	$GLOBALS['more'] = 0;
	setup_postdata( $post );
	$terms = get_the_terms( $post, 'category' );
	$above = array_filter( array_map( fn ( $term ) => get_term( $term->parent ), $terms ), fn ( $term ) => $term instanceof WP_Term );
	$image = get_post_thumbnail_id( $post );
	$shown = array(
		'title'    => get_the_title( $post ),
		'feed'     => get_the_title_rss(),
		'author'   => get_the_author(),
		'category' => strip_links( get_the_category_list( '', '', $post->ID ) ),
		'parent'   => apply_filters( 'single_cat_title', reset( $above )->name ),
		'tag'      => strip_links( get_the_tag_list( '', '', '', $post->ID ) ),
		'file'     => get_the_title( $image ),
		'lead'     => preg_match( '/class="more-link">(.*?)<\/a>/s', apply_filters( 'the_content', get_the_content() ), $found ) ? $found[1] : '',
	);
	$page  = wp_get_attachment_image( $image );
	foreach ( $shown as $name => $html ) {
		$page .= "<i class='$name'>$html</i>";
	}
	foreach ( get_comments( array( 'post_id' => $post->ID ) ) as $comment ) {
		$page .= "<i class='commenter'>" . strip_links( get_comment_author_link( $comment ) ) . '</i>';
		$said  = apply_filters( 'comment_text', get_comment_text( $comment ), $comment );
		$page .= "<i class='comment'>" . ( preg_match( '/<b>(.*?)<\/b>/s', $said, $found ) ? $found[1] : '' ) . '</i>';
	}
	return $page;
}

function strip_links( $html ) {
	return preg_replace( '/<\/?(?:a|ul|li)(?: [^>]*)?>/', '', $html );
}

class Reading {
	public $refused = array();
	private $wp;
	private $moved = array();
	private $parents = array();
	private $authors = array();
	private $logins = array();
	private $featured = array();

	public function file( $path ) {
		$document = new DOMDocument();
		if ( ! $document->loadXML( file_get_contents( $path ) ) || isset( $document->doctype ) ) {
			$this->refuse( 'file', $path, 'cannot be parsed' );
			return;
		}
		$channel  = simplexml_import_dom( $document )->channel;
		$this->wp = $channel->getDocNamespaces()['wp'];
		foreach ( $channel->children( $this->wp )->author as $author ) {
			$this->author( (int) $author->author_id, (string) $author->author_login, (string) $author->author_display_name );
		}
		foreach ( $channel->children( $this->wp )->category as $category ) {
			$this->category( (string) $category->cat_name, (string) $category->category_nicename, (string) $category->category_parent );
		}
		foreach ( $channel->children( $this->wp )->tag as $tag ) {
			$this->term( 'post_tag', (string) $tag->tag_name, (string) $tag->tag_slug );
		}
		foreach ( $channel->item as $item ) {
			$this->item( $item, $item->children( $this->wp ) );
		}
		$this->repoint();
		foreach ( $this->featured as $post => $number ) {
			if ( isset( $this->parents[ $number ] ) ) {
				update_post_meta( $post, '_thumbnail_id', $this->parents[ $number ] );
			}
		}
	}

	private function author( $number, $login, $name ) {
		$login = sanitize_user( $login, true );
		$known = get_user_by( 'login', $login );
		$made  = $known ? $known->ID : wp_insert_user( array( 'user_login' => $login, 'user_pass' => 'secret', 'display_name' => wp_slash( $name ) ) );
		if ( is_wp_error( $made ) ) {
			$this->refuse( 'author', $login, $made );
			return;
		}
		$this->authors[ $number ] = $made;
		$this->logins[ $login ]   = $made;
	}

	private function term( $taxonomy, $name, $slug ) {
		$known = term_exists( $slug, $taxonomy );
		if ( $known ) {
			return (int) $known['term_id'];
		}
		if ( mb_strlen( $name ) > 200 ) {
			$this->refuse( $taxonomy, $name, 'longer than its column' );
			return 0;
		}
		$made = wp_insert_term( wp_slash( $name ), $taxonomy, array( 'slug' => $slug ) );
		if ( is_wp_error( $made ) ) {
			$this->refuse( $taxonomy, $name, $made );
			return 0;
		}
		return $made['term_id'];
	}

	private function refuse( $kind, $which, $why ) {
		$this->refused[] = array( $kind, (string) $which, is_wp_error( $why ) ? $why->get_error_message() : $why );
	}

	private function category( $name, $nicename, $parent ) {
		$known = term_exists( $nicename, 'category' );
		if ( $known ) {
			return (int) $known['term_id'];
		}
		if ( mb_strlen( $name ) > 200 ) {
			$this->refuse( 'category', $name, 'longer than its column' );
			return 0;
		}
		$made = wp_insert_category( array( 'cat_name' => wp_slash( $name ), 'category_nicename' => $nicename, 'category_parent' => '' === $parent ? 0 : category_exists( $parent ) ), true );
		if ( is_wp_error( $made ) ) {
			$this->refuse( 'category', $name, $made );
			return 0;
		}
		return $made;
	}

	private function item( $item, $wp ) {
		$number = (int) $wp->post_id;
		$type   = (string) $wp->post_type;
		$known  = post_exists( (string) $item->title, '', (string) $wp->post_date );
		if ( $known && get_post_type( $known ) === $type ) {
			$this->refuse( $type, $number, 'known already by its title and date' );
			return;
		}
		if ( strlen( (string) $item->title ) > 65535 ) {
			$this->refuse( $type, $number, 'title longer than its column' );
			return;
		}
		$post = array(
			'import_id'    => $number,
			'post_author'  => $this->logins[ sanitize_user( (string) $item->children( 'http://purl.org/dc/elements/1.1/' )->creator, true ) ] ?? 1,
			'post_title'   => (string) $item->title,
			'post_content' => (string) $item->children( 'http://purl.org/rss/1.0/modules/content/' )->encoded,
			'post_excerpt' => (string) $item->children( 'http://wordpress.org/export/1.2/excerpt/' )->encoded,
			'guid'         => (string) $item->guid,
			'post_parent'  => $this->parents[ (int) $wp->post_parent ] ?? 0,
		);
		foreach ( array( 'post_date', 'post_date_gmt', 'post_name', 'comment_status', 'ping_status', 'menu_order', 'post_type', 'post_password' ) as $field ) {
			$post[ $field ] = (string) $wp->$field;
		}
		$post['post_status'] = (string) $wp->status;
		$post                = wp_slash( $post );
		$made                = 'attachment' === $type ? $this->attachment( $post, (string) $wp->attachment_url ) : wp_insert_post( $post, true );
		if ( is_wp_error( $made ) ) {
			$this->refuse( $type, $number, $made );
			return;
		}
		$this->parents[ $number ] = $made;
		$terms                    = array();
		foreach ( $item->category as $category ) {
			$taxonomy             = (string) $category['domain'];
			$terms[ $taxonomy ][] = $this->term( $taxonomy, (string) $category, (string) $category['nicename'] );
		}
		foreach ( $terms as $taxonomy => $ids ) {
			wp_set_post_terms( $made, array_filter( $ids ), $taxonomy );
		}
		$comments = array();
		foreach ( $wp->comment as $comment ) {
			$comments[ (int) $comment->comment_id ] = $comment;
		}
		ksort( $comments );
		$inserted = array();
		foreach ( $comments as $comment ) {
			$inserted[ (int) $comment->comment_id ] = $this->comment( $made, $comment, $inserted );
		}
		foreach ( $wp->postmeta as $meta ) {
			if ( '_thumbnail_id' === (string) $meta->meta_key ) {
				$this->featured[ $made ] = (int) $meta->meta_value;
			}
			add_post_meta( $made, wp_slash( (string) $meta->meta_key ), wp_slash( maybe_unserialize( (string) $meta->meta_value ) ) );
		}
	}

	private function comment( $post, $comment, $inserted ) {
		$data = array( 'comment_post_ID' => $post );
		foreach ( array( 'author', 'author_email', 'author_IP', 'author_url', 'date', 'date_gmt', 'content', 'approved', 'type', 'parent' ) as $field ) {
			$data[ "comment_$field" ] = (string) $comment->{"comment_$field"};
		}
		$data['comment_parent'] = $inserted[ (int) $data['comment_parent'] ] ?? $data['comment_parent'];
		$data['user_id']        = $this->authors[ (int) $comment->comment_user_id ] ?? 0;
		foreach ( wp_get_comment_fields_max_lengths() as $field => $most ) {
			if ( strlen( $data[ $field ] ) > $most ) {
				$this->refuse( 'comment', $comment->comment_id, "$field longer than its column" );
				return;
			}
		}
		if ( comment_exists( $data['comment_author'], $data['comment_date'] ) ) {
			$this->refuse( 'comment', $comment->comment_id, 'known already by its author and date' );
			return;
		}
		$made = wp_insert_comment( wp_filter_comment( wp_slash( $data ) ) );
		if ( ! $made ) {
			$this->refuse( 'comment', $comment->comment_id, 'not taken' );
			return;
		}
		foreach ( $comment->commentmeta as $meta ) {
			add_comment_meta( $made, wp_slash( (string) $meta->meta_key ), wp_slash( maybe_unserialize( (string) $meta->meta_value ) ) );
		}
		return $made;
	}

	private function attachment( $post, $address ) {
		// Pictures are served from this machine, which WordPress takes for an attack.
		add_filter( 'http_request_host_is_external', '__return_true' );
		add_filter( 'http_allowed_safe_ports', fn( $ports ) => array( ...$ports, (int) wp_parse_url( $address, PHP_URL_PORT ) ) );
		$fetched = download_url( $address );
		if ( is_wp_error( $fetched ) ) {
			return $fetched;
		}
		$file = array( 'name' => basename( wp_parse_url( $address, PHP_URL_PATH ) ), 'tmp_name' => $fetched );
		$held = wp_handle_sideload( $file, array( 'test_form' => false ), $post['post_date'] );
		if ( isset( $held['error'] ) ) {
			return new WP_Error( 'attachment', $held['error'] );
		}
		$this->moved[ $address ] = $held['url'];
		$post['post_mime_type']  = $held['type'];
		$post['guid']            = $held['url'];
		$made                    = wp_insert_attachment( $post, $held['file'], 0, true );
		if ( ! is_wp_error( $made ) ) {
			wp_update_attachment_metadata( $made, wp_generate_attachment_metadata( $made, $held['file'] ) );
		}
		return $made;
	}

	private function repoint() {
		global $wpdb;
		uksort( $this->moved, fn( $one, $other ) => strlen( $other ) - strlen( $one ) );
		foreach ( $this->moved as $from => $to ) {
			$wpdb->query( $wpdb->prepare( "UPDATE {$wpdb->posts} SET post_content = REPLACE(post_content, %s, %s)", $from, $to ) );
		}
	}
}
