import type { BackupConfig } from './agent-config.ts'
import { constant, option } from './option.ts'
import type { Secret } from './secret.ts'
import { duration, stringMatching, path, secret } from './text-kinds.ts'
import { integer } from './value-kinds.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

const s3Address = stringMatching(
  'a URL such as https://s3.eu-central-1.amazonaws.com/bucket/prefix',
  /^https?:\/\/[^\s/?#@]+\/[^\s?#]{1,1024}$/,
)
const s3Region = stringMatching('the name of a region', /^[A-Za-z0-9-]{1,64}$/)
const accessKey = stringMatching('the ID of an access key', /^\S{1,256}$/)

/** Backups of the state on a timer. See docs/how-to/back-up-and-restore.md. */
export const backupOptions = {
  backupInterval: option({
    kind: duration({ msMin: MINUTE_MS, msMax: 366 * DAY_MS }),
    file: ['backup', 'interval'],
    environment: 'REEVE_BACKUP_INTERVAL',
    byDefault: constant(undefined, 'none are made'),
    help: 'How often the server that leads saves a snapshot of the state and verifies it.',
    read: (config) => config.backup.intervalMs,
  }),
  backupKeep: option({
    kind: integer({ min: 1, max: 10_000 }),
    file: ['backup', 'keep'],
    environment: 'REEVE_BACKUP_KEEP',
    byDefault: constant(7, '`7`'),
    help: 'How many backups are kept; older ones are removed after a new one was verified.',
    read: (config) => config.backup.keep,
  }),
  backupDirectory: option({
    kind: path,
    file: ['backup', 'directory'],
    environment: 'REEVE_BACKUP_DIRECTORY',
    byDefault: constant(undefined, 'none'),
    help: 'The directory that they are written to, on another disk than `data_dir`.',
    read: (config) => config.backup.directory,
  }),
  backupS3Address: option({
    kind: s3Address,
    file: ['backup', 's3', 'address'],
    environment: 'REEVE_BACKUP_S3_ADDRESS',
    byDefault: constant(undefined, 'none'),
    help: 'Instead of a directory, the URL of a bucket and prefix of an S3-compatible service.',
    read: (config) => config.backup.s3.address,
  }),
  backupS3Region: option({
    kind: s3Region,
    file: ['backup', 's3', 'region'],
    environment: 'REEVE_BACKUP_S3_REGION',
    byDefault: constant('us-east-1', '`us-east-1`'),
    help: 'The region of the bucket.',
    read: (config) => config.backup.s3.region,
  }),
  backupS3AccessKey: option({
    kind: accessKey,
    file: ['backup', 's3', 'access_key'],
    environment: 'REEVE_BACKUP_S3_ACCESS_KEY',
    byDefault: constant(undefined, 'none'),
    help: 'The ID of an access key that may list, read, write and delete objects under the prefix.',
    read: (config) => config.backup.s3.accessKey,
  }),
  backupS3SecretKey: option({
    kind: secret,
    file: ['backup', 's3', 'secret_key'],
    environment: 'REEVE_BACKUP_S3_SECRET_KEY',
    byDefault: constant(undefined, 'none'),
    help: 'The secret of that access key.',
    read: (config) => config.backup.s3.secretKey,
  }),
}

interface BackupSettings {
  readonly backupInterval: number | undefined
  readonly backupKeep: number
  readonly backupDirectory: string | undefined
  readonly backupS3Address: string | undefined
  readonly backupS3Region: string
  readonly backupS3AccessKey: string | undefined
  readonly backupS3SecretKey: Secret | undefined
}

export function backupConfig(settings: BackupSettings): BackupConfig {
  return {
    intervalMs: settings.backupInterval,
    keep: settings.backupKeep,
    directory: settings.backupDirectory,
    s3: {
      address: settings.backupS3Address,
      region: settings.backupS3Region,
      accessKey: settings.backupS3AccessKey,
      secretKey: settings.backupS3SecretKey,
    },
  }
}

/** Describes a missing or conflicting backup setting; undefined if there is none. */
export function findBackupProblem(settings: BackupSettings): string | undefined {
  const { backupInterval, backupDirectory, backupS3Address } = settings
  if (backupInterval === undefined) return undefined
  if (backupDirectory === undefined && backupS3Address === undefined)
    return 'backup.interval is set, but not where backups go: set backup.directory, or backup.s3.'
  if (backupDirectory !== undefined && backupS3Address !== undefined)
    return 'Backups go to backup.directory or to backup.s3, not to both: remove one of them.'
  const hasKeys =
    settings.backupS3AccessKey !== undefined && settings.backupS3SecretKey !== undefined
  if (backupS3Address !== undefined && !hasKeys) return 'backup.s3 needs access_key and secret_key.'
  return undefined
}
