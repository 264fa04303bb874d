"""Sign in at a service with OAuth, store sign-ins and renew them."""
