import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { peerTlsOptions } from './tls-wiring.ts'

const TLS = { dialOptions: () => ({}), otherDomains: [], region: 'global' }

test('peer security: with tls.rpc a connection without a server certificate is no cluster peer', () => {
  const { isClusterPeer } = peerTlsOptions({ ...TLS, isMutual: true })
  assert.equal(isClusterPeer(new Socket()), false)
})

test('peer security: without tls.rpc servers have no certificates to verify', () => {
  const { isClusterPeer } = peerTlsOptions({ ...TLS, isMutual: false })
  assert.equal(isClusterPeer(new Socket()), true)
})
