/** Where a server stands when a request comes. */
export interface Standing {
  readonly isLeading: boolean
  /** `host:port` of the leader, another's or this one's; empty when there is none. */
  readonly leader: string
}

export interface AskedRequest {
  readonly method: string
  /** With its query. */
  readonly url: string
  /** Another server of the cluster has passed it on. */
  readonly isHop: boolean
}

/**
 * `here`; `confirmed`: here, when the storage says that this server still leads; `forward`: by the
 * leader; `nobody`: there is none, or the one that was asked is none any more.
 */
export type Answerer = 'here' | 'confirmed' | 'forward' | 'nobody'

/** Paths that are about this process, not about state. */
const OWN_PATHS = ['/v1/agent/', '/v1/status/', '/v1/metrics', '/openapi.json', '/docs', '/ui']

/** Read from state, but not from rows alone: nodes and streams are with the leader. */
const LEADERS_READS = ['/v1/client/', '/v1/event/stream', '/v1/operator/']

/** Decides who answers. A request that was passed on once is never passed on again. */
export function whoAnswers(request: AskedRequest, { isLeading, leader }: Standing): Answerer {
  const [path = '', query = ''] = request.url.split('?', 2)
  if (isOwn(path)) return 'here'
  const flags = new URLSearchParams(query)
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  const isStale = isRead && isOn(flags.get('stale')) && mayBeStale(path)
  if (isStale && !isLeading) return 'here'
  if (isLeading) return isRead && !isStale && isOn(flags.get('consistent')) ? 'confirmed' : 'here'
  return leader === '' || request.isHop ? 'nobody' : 'forward'
}

function isOwn(path: string): boolean {
  return path === '/' || OWN_PATHS.some((own) => path === own || path.startsWith(withSlash(own)))
}

function withSlash(path: string): string {
  return path.endsWith('/') ? path : `${path}/`
}

function mayBeStale(path: string): boolean {
  return path.startsWith('/v1/') && !LEADERS_READS.some((prefix) => path.startsWith(prefix))
}

/** What is neither on nor off is refused by whoever reads the query. */
function isOn(given: string | null): boolean {
  return given !== null && ['', '1', 't', 'true'].includes(given.toLowerCase())
}
