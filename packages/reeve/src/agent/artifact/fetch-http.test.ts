import { AwsV4Signer } from 'aws4fetch'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeBucketProblem, newGcsRequest, newS3Request } from './fetch-http.ts'

const KEYS = { aws_access_key_id: 'AKIAEXAMPLE', aws_access_key_secret: 'secret-of-the-example' }
const ADDRESS = 'https://s3.eu-central-1.amazonaws.com/bucket/a%20b/c.zip'

test('an object without credentials is requested without a signature', async () => {
  const headers = { 'x-own': '1' }
  assert.deepEqual(await newS3Request({ address: ADDRESS, options: {} }, headers), {
    address: ADDRESS,
    headers,
  })
})

for (const [name, options, region] of [
  ['of the address', {}, 'eu-central-1'],
  ['of the options', { region: 'us-west-2' }, 'us-west-2'],
] as const)
  test(`an object with keys is signed for the region ${name}`, async () => {
    const request = await newS3Request({ address: ADDRESS, options: { ...KEYS, ...options } }, {})
    const { authorization = '', 'x-amz-date': datetime = '' } = request.headers
    assert.ok(authorization.includes(`/${region}/s3/aws4_request`), authorization)
    const wanted = await new AwsV4Signer({
      url: ADDRESS,
      accessKeyId: KEYS.aws_access_key_id,
      secretAccessKey: KEYS.aws_access_key_secret,
      service: 's3',
      region,
      datetime,
    }).sign()
    assert.equal(authorization, wanted.headers.get('authorization'))
    assert.ok(!JSON.stringify(request).includes(KEYS.aws_access_key_secret))
  })

test('a session token and a version are part of the signed request', async () => {
  const options = { ...KEYS, aws_access_token: 'session', version: 'v/1' }
  const { address, headers } = await newS3Request({ address: ADDRESS, options }, {})
  assert.equal(address, `${ADDRESS}?versionId=v%2F1`)
  assert.equal(headers['x-amz-security-token'], 'session')
  assert.match(headers['authorization'] ?? '', /SignedHeaders=[^,]*x-amz-security-token/)
})

test('half of a pair of keys is a mistake', async () => {
  for (const [name, value] of Object.entries(KEYS))
    await assert.rejects(newS3Request({ address: ADDRESS, options: { [name]: value } }, {}), {
      kind: 'task-artifact',
      message: /needed together/,
    })
})

test('objects of gcs are read at the address for downloads', () => {
  const address = 'https://www.googleapis.com/storage/v1/bucket/a/b.zip'
  const plain = 'https://storage.googleapis.com/bucket/a/b.zip'
  assert.deepEqual(newGcsRequest({ address, options: {} }, {}), { address: plain, headers: {} })
  const options = { access_token: 'token', version: '12' }
  assert.deepEqual(newGcsRequest({ address, options }, { a: '1' }), {
    address: `${plain}?generation=12`,
    headers: { a: '1', authorization: 'Bearer token' },
  })
})

test('an error response of a bucket becomes a message with the cause and a remedy', () => {
  const body = (code: string): string => `<Error><Code>${code}</Code></Error>`
  for (const [status, text, wanted] of [
    [403, body('SignatureDoesNotMatch'), /^the bucket answered 403 SignatureDoesNotMatch$/],
    [403, body('AccessDenied'), /403 AccessDenied: the options aws_access_key_id and/],
    [301, body('PermanentRedirect'), /set the option region/],
    [404, '', /answered 404: a source names one object/],
    [503, 'busy', /^the bucket answered 503$/],
  ] as const)
    assert.match(describeBucketProblem(status, text), wanted)
})
