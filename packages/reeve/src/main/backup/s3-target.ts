import { AwsClient } from 'aws4fetch'
import { createHash } from 'node:crypto'
import { createReadStream, openAsBlob } from 'node:fs'
import { rm } from 'node:fs/promises'
import { Fault } from '@reeve/kit/fault.ts'
import { isBackupName, type BackupTarget } from './backup-target.ts'

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
