import type { v2 } from '@reeve/contract'
import type { ConfigurationVersionRow, StatusTimes } from '../../../model/index.ts'
import { resourcePath, formatTime, toOne } from './links.ts'

export function configurationVersionResource(
  row: ConfigurationVersionRow,
  uploadUrl?: string,
): v2.ConfigurationVersion {
  const { id, status, error } = row
  return {
    id,
    type: 'configuration-versions',
    attributes: {
      status,
      'status-timestamps': statusTimestamps(row.statusMs),
      source: row.source,
      'auto-queue-runs': row.autoQueueRuns,
      speculative: row.speculative,
      provisional: row.provisional,
      error: error === null ? null : 'invalid_archive',
      'error-message': error,
      ...(uploadUrl !== undefined && { 'upload-url': uploadUrl }),
    },
    relationships: { workspace: toOne('workspaces', row.workspaceId) },
    links: {
      self: resourcePath('configuration-versions', id),
      ...(row.bytes !== null && {
        download: resourcePath('configuration-versions', id, 'download'),
      }),
    },
  }
}

function statusTimestamps(times: StatusTimes): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(times).map(([name, ms]): [string, string] => [name, formatTime(ms)]),
  )
}
