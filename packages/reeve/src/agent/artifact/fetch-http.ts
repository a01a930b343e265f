import { createWriteStream } from 'node:fs'
import { request as plainRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as secureRequest } from 'node:https'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { AwsV4Signer } from 'aws4fetch'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import {
  unbracketHost,
  newPolicyLookup,
  requireAllowedAddress,
  type AddressPolicy,
} from './address-policy.ts'
import type { DiskBudget, FileCharge } from './disk-budget.ts'
import { type ArtifactSource, redactAddress } from './source.ts'

interface HttpFetchOptions {
  readonly address: string
  readonly headers: Readonly<Record<string, string>>
  /** Skips TLS verification. */
  readonly skipsTlsVerification: boolean
  readonly policy: AddressPolicy
  /** A file that does not exist yet. */
  readonly path: string
  readonly budget: DiskBudget
  /** Limit below the budget; none unless given. */
  readonly bytesMax?: number
  /** Describes a response without a download, from its status and the beginning of its body. */
  readonly problem?: (status: number, body: string) => string
  readonly signal: AbortSignal
}

/**
 * Downloads into a file and returns its charge on the budget. Redirects are followed, but headers
 * are sent to no other server, and every hop is checked against the address policy.
 */
export async function fetchHttp(fetch: HttpFetchOptions): Promise<FileCharge> {
  let url = parseUrl(fetch.address)
  let { headers } = fetch
  for (let redirects = 0; redirects <= AGENT_LIMITS.artifactRedirectsMax; redirects += 1) {
    const response = await sendRequest(url, { ...fetch, headers })
    const location = response.headers.location
    if (isRedirect(response) && location !== undefined) {
      response.destroy()
      const next = parseUrl(location, url)
      if (next.origin !== url.origin) headers = {}
      url = next
      continue
    }
    if (response.statusCode !== 200)
      throw downloadFault(url, await responseProblem(response, fetch))
    return saveBody(response, fetch, url)
  }
  throw downloadFault(url, 'too many redirects')
}

async function responseProblem(
  response: IncomingMessage,
  { problem }: HttpFetchOptions,
): Promise<string> {
  const status = response.statusCode ?? 0
  if (problem === undefined) {
    response.destroy()
    return `the server answered ${status}`
  }
  return problem(status, await readBeginning(response))
}

/** Reads the beginning of a body. */
async function readBeginning(response: IncomingMessage): Promise<string> {
  let body = ''
  response.setEncoding('utf8')
  try {
    for await (const piece of response) {
      body += String(piece)
      if (body.length >= AGENT_LIMITS.bucketErrorCharsMax) break
    }
  } catch {
    // The status is sufficient.
  }
  return body.slice(0, AGENT_LIMITS.bucketErrorCharsMax)
}

function isRedirect({ statusCode = 0 }: IncomingMessage): boolean {
  return [301, 302, 303, 307, 308].includes(statusCode)
}

function parseUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href)
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return url
  throw new Fault('task-artifact', `${JSON.stringify(redactAddress(text))} is no web address`)
}

async function sendRequest(url: URL, fetch: HttpFetchOptions): Promise<IncomingMessage> {
  const { headers, skipsTlsVerification, policy, signal } = fetch
  const sourceDescription = describeHop(fetch.address, url)
  requireAllowedAddress(unbracketHost(url.hostname), policy, sourceDescription)
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const options: RequestOptions = {
    headers: { 'user-agent': 'reeve', 'accept-encoding': 'identity', ...headers },
    lookup: newPolicyLookup(policy, sourceDescription),
    signal,
  }
  const request =
    url.protocol === 'https:'
      ? secureRequest(url, { ...options, rejectUnauthorized: !skipsTlsVerification }, resolve)
      : plainRequest(url, options, resolve)
  request.on('error', reject)
  request.setTimeout(AGENT_LIMITS.artifactIdleTimeoutMs, () => {
    request.destroy(new Error('the server sent no data for a while'))
  })
  request.end()
  return promise.catch((thrown: unknown) => {
    throw thrown instanceof Fault ? thrown : downloadFault(url, errorMessage(thrown))
  })
}

function describeHop(source: string, url: URL): string {
  const [first, current] = [redactAddress(source), redactAddress(url.href)]
  const isFirst = parseUrl(source).href === url.href
  return `Artifact source ${first}${isFirst ? '' : ` redirects to ${current}, which`}`
}

async function saveBody(
  response: IncomingMessage,
  fetch: HttpFetchOptions,
  url: URL,
): Promise<FileCharge> {
  const { path, budget, bytesMax = Infinity, signal } = fetch
  // The length may be missing or wrong: the received bytes are counted too.
  budget.requireFree(Number(response.headers['content-length'] ?? 0) || 0)
  const charge = budget.addFile()
  let count = 0
  const countBytes = (bytes: number): void => {
    count += bytes
    if (count > bytesMax) throw new Error(`the download is larger than ${bytesMax} bytes`)
    charge.addBytes(bytes)
  }
  const counter = new Transform({
    transform(piece: Uint8Array, _, done) {
      try {
        countBytes(piece.length)
        done(null, piece)
      } catch (thrown) {
        done(thrown instanceof Error ? thrown : new Error(errorMessage(thrown)))
      }
    },
  })
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600 })
  await pipeline(response, counter, file, { signal }).catch((thrown: unknown) => {
    throw thrown instanceof Fault ? thrown : downloadFault(url, errorMessage(thrown))
  })
  return charge
}

function downloadFault(url: URL, reason: string): Fault {
  return new Fault('task-artifact', `cannot download ${redactAddress(url.href)}: ${reason}`)
}

interface ObjectRequest {
  readonly address: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * The request for one object of a bucket, signed where the options have keys. Both forms of an
 * address work, `https://bucket.host/key` and `https://host/bucket/key`, because the service is
 * asked for exactly what is given. The region is taken from the address unless the options name it.
 */
export async function newS3Request(
  { address, options }: Pick<ArtifactSource, 'address' | 'options'>,
  headers: Readonly<Record<string, string>>,
): Promise<ObjectRequest> {
  const url = withVersionParameter(address, 'versionId', options['version'])
  const accessKeyId = options['aws_access_key_id'] ?? ''
  const secretAccessKey = options['aws_access_key_secret'] ?? ''
  if ((accessKeyId === '') !== (secretAccessKey === ''))
    throw new Fault(
      'task-artifact',
      'the options aws_access_key_id and aws_access_key_secret are needed together',
    )
  if (accessKeyId === '') return { address: url, headers }
  const token = options['aws_access_token'] ?? ''
  const region = options['region'] ?? ''
  const signer = new AwsV4Signer({
    method: 'GET',
    url,
    headers,
    accessKeyId,
    secretAccessKey,
    service: 's3',
    ...(token === '' ? {} : { sessionToken: token }),
    ...(region === '' ? {} : { region }),
  })
  const signed = await signer.sign()
  return { address: url, headers: { ...headers, ...Object.fromEntries(signed.headers) } }
}

const GCS_API_URL = /^https?:\/\/www\.googleapis\.com\/storage\/v1\//i

/**
 * `gcs::https://www.googleapis.com/storage/v1/BUCKET/OBJECT` names an object, but is no address of
 * the service: objects are read at the address for downloads.
 */
export function newGcsRequest(
  { address, options }: Pick<ArtifactSource, 'address' | 'options'>,
  headers: Readonly<Record<string, string>>,
): ObjectRequest {
  const objectUrl = address.replace(GCS_API_URL, 'https://storage.googleapis.com/')
  const token = options['access_token'] ?? ''
  const bearer = token === '' ? {} : { authorization: `Bearer ${token}` }
  const url = withVersionParameter(objectUrl, 'generation', options['version'])
  return { address: url, headers: { ...headers, ...bearer } }
}

function withVersionParameter(address: string, parameter: string, version = ''): string {
  if (version === '') return address
  const separator = address.includes('?') ? '&' : '?'
  return `${address}${separator}${parameter}=${encodeURIComponent(version)}`
}

/** Describes the error of a bucket from the document in its response. */
export function describeBucketProblem(status: number, body: string): string {
  const [, code = ''] = /<Code>([\w.]{1,100})<\/Code>/.exec(body) ?? []
  const message = `the bucket answered ${status}${code === '' ? '' : ` ${code}`}`
  const hint =
    HINTS_BY_CODE.get(code) ?? (status === 404 ? HINTS_BY_CODE.get('NoSuchKey') : undefined)
  return hint === undefined ? message : `${message}: ${hint}`
}

const REGION_HINT = 'set the option region to the region of the bucket'
const HINTS_BY_CODE: ReadonlyMap<string, string> = new Map([
  ['NoSuchKey', 'a source names one object; fetch a directory as an archive'],
  ['AccessDenied', 'the options aws_access_key_id and aws_access_key_secret must allow to read it'],
  ['PermanentRedirect', REGION_HINT],
  ['AuthorizationHeaderMalformed', REGION_HINT],
  ['RequestTimeTooSkewed', 'the clock of this node is wrong'],
])
