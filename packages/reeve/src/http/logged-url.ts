/** Uploads and logs of runs have their key in the path. */
const KEY_PATTERN = /^(\/api\/v2\/(?:uploads\/[^/]*|run-logs)\/)[^?]+/

/**
 * Masks the key in a URL for the log: such keys replace a token, and logs must not contain secrets.
 */
export function redactUrl(url: string): string {
  return url.replace(KEY_PATTERN, '$1***')
}
