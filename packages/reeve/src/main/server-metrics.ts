import type { Clock } from '@reeve/kit/clock.ts'
import type { GaugeSources } from '../http/index.ts'
import type { Store } from '../state/index.ts'
import type { Logger } from './log.ts'

/** Optional parts of a server that have metrics. */
interface MetricInputs {
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

const CHECK_EVERY_MS = 1_000
/** Commits that wait longer than this are reported; they normally take milliseconds. */
const WARNING_AFTER_MS = 5_000

interface CommitWatchOptions {
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly store: Pick<Store, 'commitWaitMs'>
}

/** Logs the start and the end of slow commits. */
export class CommitDelayMonitor {
  readonly #options: CommitWatchOptions
  #longestMs = 0
  #cancelTimer: () => void = () => undefined

  constructor(options: CommitWatchOptions) {
    this.#options = options
  }

  start(): void {
    this.#cancelTimer = this.#options.clock.after(CHECK_EVERY_MS, () => {
      this.start()
      this.check()
    })
  }

  stop(): void {
    this.#cancelTimer()
  }

  /** Describes how long commits have been waiting; undefined while there is no delay. */
  get delay(): string | undefined {
    const waitedMs = this.#options.store.commitWaitMs
    return waitedMs < WARNING_AFTER_MS
      ? undefined
      : `commits have been waiting for the storage for ${Math.round(waitedMs / 1_000)} s`
  }

  /** Checks once. Tests call this directly. */
  check(): void {
    const { log, store } = this.#options
    const waitedMs = Math.round(store.commitWaitMs)
    const { delay } = this
    if (delay !== undefined) {
      if (this.#longestMs === 0) log.warn({ waitedMs }, `${delay}; writes wait with them`)
      this.#longestMs = Math.max(this.#longestMs, waitedMs)
    } else if (this.#longestMs > 0) {
      log.info({ waitedMs: this.#longestMs }, 'commits do not wait for the storage any more')
      this.#longestMs = 0
    }
  }
}
