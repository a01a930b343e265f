import type { BackupConfig } from '../config/agent-config.ts'
import type { BackupTarget } from './backup-target.ts'
import { DirectoryTarget } from './directory-target.ts'
import { S3Target } from './s3-target.ts'

/** Creates the configured target. Files for remote targets are staged in the data directory. */
export function openTarget(config: BackupConfig, dataDirectory: string): BackupTarget | undefined {
  const { intervalMs, directory, s3 } = config
  if (intervalMs === undefined) return undefined
  if (directory !== undefined) return new DirectoryTarget(directory)
  const { address, region, accessKey, secretKey } = s3
  if (address === undefined || accessKey === undefined || secretKey === undefined) return undefined
  const keys = { accessKeyId: accessKey, secretAccessKey: secretKey.reveal() }
  return new S3Target({ url: address, region, ...keys, stagingDirectory: dataDirectory })
}
