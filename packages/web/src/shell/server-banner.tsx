import { ApiError, clockSkewMs, healthInError } from '@reeve/sdk'
import { useApiQuery } from '../data/use-read.ts'
import { Icon } from '../parts/icon.tsx'
import type { Api } from '../session/api.ts'
import { serverNotice, type ServerReport } from './server-notice.ts'

const POLL_INTERVAL_MS = 15_000

/** On every page: why changes are rejected, or what is about to run short. */
export function ServerBanner() {
  const { data } = useApiQuery(['server-report'], readReport, { pollIntervalMs: POLL_INTERVAL_MS })
  const notice = data === undefined ? undefined : serverNotice(data)
  if (notice === undefined) return null
  return (
    <aside className={`server-banner tone-${notice.tone}`} aria-label="State of the server">
      <Icon name="warning" />
      <p role="status">
        <strong>{notice.title}</strong> {notice.text} <code>reeve doctor</code> checks the rest.
      </p>
    </aside>
  )
}

async function readReport(api: Api, signal: AbortSignal): Promise<{ data: ServerReport }> {
  const before = Date.now()
  try {
    const query = { type: ['server'] }
    const { data: health, headers } = await api.v1.readAgentHealth({ query, signal })
    const skewMs = clockSkewMs(headers.get('date'), { before, after: Date.now() })
    return { data: { health, skewMs } }
  } catch (error) {
    // An unhealthy server reports its health in an error response.
    const health = error instanceof ApiError ? healthInError(error) : undefined
    if (health === undefined) throw error
    return { data: { health, skewMs: undefined } }
  }
}
