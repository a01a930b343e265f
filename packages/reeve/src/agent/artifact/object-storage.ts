import { AwsV4Signer } from 'aws4fetch'
import { Fault } from '@reeve/kit/fault.ts'
import type { ArtifactSource } from './source.ts'

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
