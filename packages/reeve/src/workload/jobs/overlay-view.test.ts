import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aCluster, aJob, anAllocation } from '../../../test/build/index.ts'
import { jobVersionKey, put, remove } from '../../state/index.ts'
import { overlayView } from './overlay-view.ts'

const versions = [0, 1, 2].map((Version) => ({ ...aJob(), Version }))
const [oldest = aJob(), older = aJob(), current = aJob()] = versions
const next = { ...aJob({ Priority: 70 }), Version: 3 }
const view = aCluster({ nodes: 2, job: current, versions: [oldest, older] })
const there = overlayView(view, 7, [
  put('jobs', next),
  put('job_versions', next),
  remove('job_versions', jobVersionKey('default', 'web', 0)),
])

test('overlay: the job and its newest version are those that would be written', () => {
  assert.equal(there.index, 7)
  assert.equal(there.findJob('default', 'web'), next)
  assert.equal(there.findJobOf(anAllocation({ job: next })), next)
  assert.equal(there.findJobOf(anAllocation({ job: older })), older)
})

test('overlay: a version that would go is gone, and the others keep their order', () => {
  assert.deepEqual(
    there.versionsOf('default', 'web').map(({ Version }) => Version),
    [1, 2, 3],
  )
})

test('overlay: other jobs and everything else are as they are', () => {
  assert.equal(there.findJob('default', 'other'), undefined)
  assert.deepEqual(there.versionsOf('other', 'web'), [])
  assert.deepEqual(there.readyNodes('default'), view.readyNodes('default'))
  assert.deepEqual(there.settingsFor('default'), view.settingsFor('default'))
})

test('overlay: the view beneath it is not changed', () => {
  assert.equal(view.findJob('default', 'web'), current)
  assert.equal(view.versionsOf('default', 'web').length, 3)
})
