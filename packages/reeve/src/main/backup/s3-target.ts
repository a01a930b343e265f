import { AwsClient } from 'aws4fetch'
import { createHash } from 'node:crypto'
import { createReadStream, openAsBlob } from 'node:fs'
import { rm } from 'node:fs/promises'
import { Fault } from '@reeve/kit/fault.ts'
import { isBackupName, type BackupTarget } from './backup-target.ts'

/** A request that lists or deletes is answered within this time. */
const REQUEST_MS_MAX = 30_000
/** The same for one that carries a backup. */
const UPLOAD_MS_MAX = 60 * 60_000
/** A service that is busy is asked so often again. */
const RETRIES = 3
const ERROR_CHARS_MAX = 200

interface S3Options {
  /** `https://host/bucket/prefix`. */
  readonly address: string
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly workFolder: string
}

/** Objects under a prefix of a bucket, in a service that speaks the protocol of S3. */
export class S3Target implements BackupTarget {
  readonly name: string
  readonly workFolder: string
  readonly #client: AwsClient
  readonly #bucket: string
  readonly #prefix: string

  constructor({ address, region, accessKeyId, secretAccessKey, workFolder }: S3Options) {
    this.name = address
    this.workFolder = workFolder
    const { origin, pathname } = new URL(address)
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
    // The service compares what arrives with this, so that a damaged upload is rejected.
    const sha256 = await sha256Of(file)
    await this.#send('PUT', this.#addressOf(name), {
      body: await openAsBlob(file),
      headers: { 'x-amz-content-sha256': sha256 },
      signal: AbortSignal.timeout(UPLOAD_MS_MAX),
    })
    await rm(file, { force: true })
  }

  async remove(name: string): Promise<void> {
    await this.#send('DELETE', this.#addressOf(name))
  }

  #addressOf(name: string): string {
    const key = `${this.#prefix}${name}`.split('/').map(encodeURIComponent).join('/')
    return `${this.#bucket}/${key}`
  }

  async #send(method: string, address: string, more: RequestInit = {}): Promise<string> {
    const signal = AbortSignal.timeout(REQUEST_MS_MAX)
    const answer = await this.#client
      .fetch(address, { method, signal, ...more })
      .catch((thrown: unknown) => {
        const why = thrown instanceof Error ? describe(thrown) : String(thrown)
        throw new Fault('backup', `${this.name} does not answer: ${why}`, { cause: thrown })
      })
    const text = await answer.text()
    if (answer.ok) return text
    const [, code = ''] = /<Code>([^<]*)</.exec(text) ?? []
    const why = code === '' ? text.slice(0, ERROR_CHARS_MAX) : code
    throw new Fault('backup', `${this.name} answered ${method} with ${answer.status} ${why}`)
  }
}

/** The runtime wraps why a connection failed. */
function describe({ message, cause }: Error): string {
  return cause instanceof Error ? `${message} (${cause.message})` : message
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) {
    // A stream without an encoding gives Buffers.
    hash.update(chunk as Buffer)
  }
  return hash.digest('hex')
}
