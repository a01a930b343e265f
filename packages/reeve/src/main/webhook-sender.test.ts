import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createWebhookSender } from './webhook-sender.ts'

test('webhook: a loopback address is rejected with the reason and the remedy', async () => {
  const sender = createWebhookSender({ allowsLocal: false, version: '1', otherHeaders: {} })
  for (const host of ['127.0.0.1', 'localhost']) {
    const { code, body } = await sender.send({
      url: `http://${host}:1/hook`,
      body: '',
      headers: {},
    })
    assert.equal(code, null)
    assert.match(
      body,
      /^The receiver \S+ resolves to \S+, a loopback, link-local or cloud metadata address; use an address that other machines can reach$/,
    )
  }
})
