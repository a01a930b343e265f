import type { GaugeSources } from '../http/index.ts'

/** Optional parts of a server that have metrics. */
export interface MetricInputs {
  readonly replication: { readonly lagMs: number } | undefined
  readonly memory: { readonly usedRatio: number }
  readonly backups: { readonly ageMs: number } | undefined
  readonly commits: { readonly commitWaitMs: number }
  readonly certificate: { readonly expiresAtMs: number | undefined } | undefined
  /** Undefined if the state is in a database. */
  readonly disk: { readonly ratio: number; readonly bytes: number } | undefined
}

/** Metrics of a server in addition to those of its state and requests. */
export function serverMetrics(parts: MetricInputs): GaugeSources {
  const { replication, memory, backups, commits, certificate, disk } = parts
  return {
    memory_used_ratio: {
      help: 'Share of its memory that the server uses; from 0.9 on the state may not grow.',
      read: () => memory.usedRatio,
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
        // Read each time, because a reload may change the certificate.
        read: () => (certificate.expiresAtMs ?? 0) / 1_000,
      },
    }),
  }
}
