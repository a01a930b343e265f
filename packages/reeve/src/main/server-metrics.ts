import type { MetricSources } from '../http/index.ts'

/** Parts of a server that some servers lack; each has metrics where it is there. */
export interface MeasuredParts {
  readonly replication: { readonly lagMs: number } | undefined
  readonly memory: { readonly share: number }
  readonly backups: { readonly ageMs: number } | undefined
  readonly commits: { readonly commitWaitMs: number }
  readonly certificate: { readonly expiresAtMs: number | undefined } | undefined
  /** Undefined where the state is in a database. */
  readonly disk: { readonly ratio: number; readonly bytes: number } | undefined
}

/** What only a whole server can measure, beside the metrics of its state and its requests. */
export function serverMetrics(parts: MeasuredParts): MetricSources {
  const { replication, memory, backups, commits, certificate, disk } = parts
  return {
    memory_used_ratio: {
      help: 'Share of its memory that the server uses; from 0.9 on the state may not grow.',
      read: () => memory.share,
    },
    commit_wait_seconds: {
      help: 'Time for which the commits that are being written have waited for the storage.',
      read: () => commits.commitWaitMs / 1_000,
    },
    ...(disk !== undefined && {
      storage_free_bytes: {
        help: 'Bytes that are free on the file system of the state.',
        read: () => disk.bytes,
      },
      storage_free_ratio: {
        help: 'Share of the file system of the state that is free, from 0 to 1.',
        read: () => disk.ratio,
      },
    }),
    ...(replication !== undefined && {
      replication_lag_seconds: {
        help: 'Time since the copies of the authoritative region were last known to be current.',
        read: () => replication.lagMs / 1_000,
      },
    }),
    ...(backups !== undefined && {
      backup_age_seconds: {
        help: 'Time since the last verified backup, or since the start where there is none.',
        read: () => backups.ageMs / 1_000,
      },
    }),
    ...(certificate?.expiresAtMs !== undefined && {
      certificate_expiry_timestamp_seconds: {
        help: 'When the certificate of this agent expires, in seconds since the Unix epoch.',
        // A reload may have read another certificate since.
        read: () => (certificate.expiresAtMs ?? 0) / 1_000,
      },
    }),
  }
}
