import assert from 'node:assert/strict'
import { test } from 'node:test'
import { evaluateText } from '../../test/evaluate-text.ts'

// The request, keys and signature are those of the test suite that the provider publishes.
const RULES = `
request := {"method": "GET", "url": "https://example.amazonaws.com/"}
config := {
	"aws_access_key": "AKIDEXAMPLE",
	"aws_secret_access_key": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
	"aws_service": "service",
	"aws_region": "us-east-1",
}
signed := providers.aws.sign_req(request, config, 1440938160000000000)
authorization := signed.headers.Authorization
kept := providers.aws.sign_req(object.union(request, {"headers": {"X-Amz-Date": "x", "A": "b"}}), config, 0)
bad := providers.aws.sign_req(object.union(request, {"headers": {"A": 1}}), config, 0)
`

test('providers.aws.sign_req: gives the signature of the published example', () => {
  const wanted =
    'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request,' +
    'SignedHeaders=host;x-amz-date,' +
    'Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'
  assert.equal(evaluateText(RULES, 'data.t.authorization'), JSON.stringify(wanted))
})

test('providers.aws.sign_req: replaces what it sets, whatever its case, and keeps the rest', () => {
  const names = evaluateText(RULES, 'object.keys(data.t.kept.headers)')
  assert.equal(names, '["A","Authorization","host","x-amz-date"]')
  assert.equal(evaluateText(RULES, 'data.t.kept.headers["x-amz-date"]'), '"19700101T000000Z"')
})

test('providers.aws.sign_req: has no value for headers that are no strings', () => {
  assert.equal(evaluateText(RULES, 'data.t.bad'), 'undefined')
})
