/** In the path of uploads and of logs of runs. */
const KEY_IN_PATH = /^(\/api\/v2\/(?:uploads\/[^/]*|run-logs)\/)[^?]+/

/** A URL for the log. The keys of some links replace a token, and no log may contain a secret. */
export function loggedUrl(url: string): string {
  return url.replace(KEY_IN_PATH, '$1***')
}
