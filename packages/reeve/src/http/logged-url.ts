/** In the path of uploads and of logs of runs. */
const KEY_IN_PATH = /^(\/api\/v2\/(?:uploads\/[^/]*|run-logs)\/)[^?]+/
/** In the query of upload links of policy sets. */
const KEY_IN_QUERY = /([?&]key=)[^&]*/g

/** A URL for the log. The keys of some links stand for a token, and no log may contain a secret. */
export function loggedUrl(url: string): string {
  return url.replace(KEY_IN_PATH, '$1***').replace(KEY_IN_QUERY, '$1***')
}
