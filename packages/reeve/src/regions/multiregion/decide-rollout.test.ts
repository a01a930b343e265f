import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Deployment } from '@reeve/contract'
import { decideRollout, type PeerProgress, type RolloutDecision } from './decide-rollout.ts'

const cases: readonly {
  name: string
  status: Deployment['Status']
  /** Of a, b, c and d; this region is the one without a word. */
  peers: string
  atOnce?: number
  onFailure?: string
  want: RolloutDecision
}[] = [
  {
    name: 'waits while the one before rolls',
    status: 'pending',
    peers: 'running - pending pending',
    want: 'wait',
  },
  {
    name: 'starts when the one before is complete',
    status: 'pending',
    peers: 'blocked - pending pending',
    want: 'start',
  },
  {
    name: 'starts when nothing is rolled out before it',
    status: 'pending',
    peers: 'finished - pending pending',
    want: 'start',
  },
  {
    name: 'does not overtake one that waits',
    status: 'pending',
    peers: 'blocked pending - pending',
    want: 'wait',
  },
  {
    name: 'waits for a region that does not answer',
    status: 'pending',
    peers: 'blocked unknown - pending',
    want: 'wait',
  },
  {
    name: 'does not mind a later one that does not answer',
    status: 'pending',
    peers: 'blocked - unknown unknown',
    want: 'start',
  },
  {
    name: 'may roll beside as many as allowed',
    status: 'pending',
    peers: 'blocked running - pending',
    atOnce: 2,
    want: 'start',
  },
  {
    name: 'and not beside more',
    status: 'pending',
    peers: 'running running - pending',
    atOnce: 2,
    want: 'wait',
  },
  {
    name: 'fails before it began when another failed',
    status: 'pending',
    peers: 'failed - pending pending',
    want: 'fail',
  },
  {
    name: 'goes on with its own when another failed',
    status: 'running',
    peers: 'failed - pending pending',
    want: 'wait',
  },
  {
    name: 'holds when it is complete and another failed',
    status: 'blocked',
    peers: '- failed failed failed',
    want: 'hold',
  },
  {
    name: 'does not hold for one that failed under fail_local while another rolls',
    status: 'blocked',
    peers: '- failed running finished',
    onFailure: 'fail_local',
    want: 'wait',
  },
  {
    name: 'fails with any other under fail_all',
    status: 'running',
    peers: '- failed pending pending',
    onFailure: 'fail_all',
    want: 'fail',
  },
  {
    name: 'fails also when it is complete under fail_all',
    status: 'blocked',
    peers: '- failed pending pending',
    onFailure: 'fail_all',
    want: 'fail',
  },
  {
    name: 'starts behind one that failed under fail_local',
    status: 'pending',
    peers: 'failed - pending pending',
    onFailure: 'fail_local',
    want: 'start',
  },
  {
    name: 'ends well beside one that failed under fail_local',
    status: 'blocked',
    peers: '- failed blocked finished',
    onFailure: 'fail_local',
    want: 'succeed',
  },
  {
    name: 'holds until all are complete',
    status: 'blocked',
    peers: '- blocked running pending',
    want: 'wait',
  },
  {
    name: 'ends well when all are complete',
    status: 'blocked',
    peers: '- blocked blocked finished',
    want: 'succeed',
  },
  {
    name: 'holds while one does not answer',
    status: 'blocked',
    peers: '- blocked blocked unknown',
    want: 'wait',
  },
  {
    name: 'is left alone while it rolls',
    status: 'running',
    peers: 'blocked - pending pending',
    want: 'wait',
  },
]
for (const { name, status, peers, atOnce = 1, onFailure = '', want } of cases)
  test(`decideRollout: a region ${name}`, () => {
    const names = ['a', 'b', 'c', 'd']
    const words = peers.split(' ')
    const region = names[words.indexOf('-')] ?? assert.fail('one of them is this region')
    const pairs = names.flatMap((one, at): [string, PeerProgress][] =>
      // The words of the table are those of PeerProgress.
      one === region ? [] : [[one, words[at] as PeerProgress]],
    )
    const multiregion = {
      Strategy: { MaxParallel: atOnce, OnFailure: onFailure },
      Regions: names.map((Name) => ({
        Name,
        Count: 0,
        Datacenters: null,
        NodePool: '',
        Meta: null,
      })),
    }
    assert.equal(decideRollout({ status, region, multiregion, peers: new Map(pairs) }), want)
  })
