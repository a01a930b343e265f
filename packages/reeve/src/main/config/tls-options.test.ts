import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostFacts } from '../../../test/build/agent-config.ts'
import { collectorUrl } from './option-types.ts'

const cases = [
  { text: 'http://10.0.0.1:4318', want: 'http://10.0.0.1:4318/v1/traces' },
  { text: 'https://collector.example.com/otlp', want: 'https://collector.example.com/otlp' },
  { text: 'collector:4318', want: undefined },
  { text: 'http://user@10.0.0.1', want: undefined },
  { text: 'http://:secret@10.0.0.1', want: undefined },
  { text: 'http://10.0.0.1/?a=b', want: undefined },
]
for (const { text, want } of cases)
  test(`tracing endpoint: ${text} is ${want === undefined ? 'rejected' : `read as ${want}`}`, () => {
    const parsed = collectorUrl.fromString(text, hostFacts)
    assert.equal(parsed.ok ? parsed.value : undefined, want)
  })
