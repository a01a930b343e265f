import { createHash } from 'node:crypto'
import { createReadStream, openAsBlob } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { AwsClient } from 'aws4fetch'
import { Fault } from '@reeve/kit/fault.ts'
import { fsyncDirectory } from '../../storage/index.ts'
import type { BackupConfig } from '../config/agent-config.ts'

/** Storage for backups. */
export interface BackupTarget {
  /** Name for messages: the directory, or the URL without keys. */
  readonly name: string
  /** Directory for unfinished backup files. */
  readonly stagingDirectory: string
  /** Names of the stored backups, oldest first. */
  list(): Promise<readonly string[]>
  /** Stores a verified file of the staging directory atomically. */
  store(name: string, file: string): Promise<void>
  remove(name: string): Promise<void>
}

const BACKUP_NAME = /^reeve-\d{8}T\d{6}Z-\d+\.snapshot$/

/**
 * Returns a name that sorts by time and ends with the index:
 * `reeve-20261118T101500Z-4711.snapshot`.
 */
export function backupName(timeMs: number, index: number): string {
  const time = new Date(timeMs).toISOString().replace(/[-:]/g, '').replace(/\.\d+/, '')
  return `reeve-${time}-${index}.snapshot`
}

function isBackupName(name: string): boolean {
  return BACKUP_NAME.test(name)
}

/** Returns the creation time in the name of a backup. */
export function backupTimeMs(name: string): number {
  const [, date = '', time = ''] = /^reeve-(\d{8})T(\d{6})Z-/.exec(name) ?? []
  const day = `${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6)}`
  return Date.parse(`${day}T${time.slice(0, 2)}:${time.slice(2, 4)}:${time.slice(4)}Z`)
}

/** Stores backups in a local or mounted directory. */
class DirectoryTarget implements BackupTarget {
  readonly name: string
  readonly stagingDirectory: string

  constructor(directory: string) {
    this.name = directory
    this.stagingDirectory = directory
  }

  async list(): Promise<readonly string[]> {
    await mkdir(this.name, { recursive: true, mode: 0o700 })
    return (await readdir(this.name)).filter(isBackupName).toSorted()
  }

  async store(name: string, file: string): Promise<void> {
    await rename(file, join(this.name, name))
    await fsyncDirectory(this.name)
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.name, name), { force: true })
  }
}

/** Time limit of list and delete requests. */
const REQUEST_TIMEOUT_MS = 30_000
/** Time limit of an upload. */
const UPLOAD_TIMEOUT_MS = 60 * 60_000
/** Retries if the service is busy. */
const RETRIES = 3
const ERROR_CHARS_MAX = 200

interface S3Options {
  /** `https://host/bucket/prefix`. */
  readonly url: string
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly stagingDirectory: string
}

/** Stores backups as objects under a prefix of a bucket in an S3-compatible service. */
export class S3Target implements BackupTarget {
  readonly name: string
  readonly stagingDirectory: string
  readonly #client: AwsClient
  readonly #bucket: string
  readonly #prefix: string

  constructor({ url, region, accessKeyId, secretAccessKey, stagingDirectory }: S3Options) {
    this.name = url
    this.stagingDirectory = stagingDirectory
    const { origin, pathname } = new URL(url)
    const [bucket = '', ...prefix] = pathname.split('/').filter((part) => part !== '')
    this.#bucket = `${origin}/${bucket}`
    this.#prefix = prefix.map((part) => `${decodeURIComponent(part)}/`).join('')
    const keys = { accessKeyId, secretAccessKey }
    this.#client = new AwsClient({ ...keys, service: 's3', region, retries: RETRIES })
  }

  async list(): Promise<readonly string[]> {
    const names: string[] = []
    for (let token: string | undefined = ''; token !== undefined;) {
      const query = new URLSearchParams({ 'list-type': '2', prefix: this.#prefix })
      if (token !== '') query.set('continuation-token', token)
      const text = await this.#send('GET', `${this.#bucket}?${query.toString()}`)
      for (const [, key = ''] of text.matchAll(/<Key>([^<]*)<\/Key>/g))
        if (key.startsWith(this.#prefix)) names.push(key.slice(this.#prefix.length))
      token = /<NextContinuationToken>([^<]+)</.exec(text)?.[1]
    }
    return names.filter(isBackupName).toSorted()
  }

  async store(name: string, file: string): Promise<void> {
    // The service verifies the upload with this checksum.
    const sha256 = await hashFile(file)
    await this.#send('PUT', this.#objectUrl(name), {
      body: await openAsBlob(file),
      headers: { 'x-amz-content-sha256': sha256 },
      signal: AbortSignal.timeout(UPLOAD_TIMEOUT_MS),
    })
    await rm(file, { force: true })
  }

  async remove(name: string): Promise<void> {
    await this.#send('DELETE', this.#objectUrl(name))
  }

  #objectUrl(name: string): string {
    const key = `${this.#prefix}${name}`.split('/').map(encodeURIComponent).join('/')
    return `${this.#bucket}/${key}`
  }

  async #send(method: string, address: string, more: RequestInit = {}): Promise<string> {
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
    const answer = await this.#client
      .fetch(address, { method, signal, ...more })
      .catch((thrown: unknown) => {
        const why = thrown instanceof Error ? describeError(thrown) : String(thrown)
        throw new Fault('backup', `${this.name} does not answer: ${why}`, { cause: thrown })
      })
    const text = await answer.text()
    if (answer.ok) return text
    const [, code = ''] = /<Code>([^<]*)</.exec(text) ?? []
    const why = code === '' ? text.slice(0, ERROR_CHARS_MAX) : code
    throw new Fault('backup', `${this.name} answered ${method} with ${answer.status} ${why}`)
  }
}

/** Describes an error by its cause, because fetch wraps connection errors. */
function describeError({ message, cause }: Error): string {
  return cause instanceof Error ? `${message} (${cause.message})` : message
}

async function hashFile(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) {
    // A stream without an encoding gives Buffers.
    hash.update(chunk as Buffer)
  }
  return hash.digest('hex')
}

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
