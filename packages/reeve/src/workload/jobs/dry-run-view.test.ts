import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aCluster, aJob, anAllocation } from '../../../test/build/index.ts'
import { jobVersionKey, put, remove } from '../../state/index.ts'
import { overlayView } from './dry-run-view.ts'

const versions = [0, 1, 2].map((Version) => ({ ...aJob(), Version }))
const [oldest = aJob(), older = aJob(), current = aJob()] = versions
const next = { ...aJob({ Priority: 70 }), Version: 3 }
const view = aCluster({ nodes: 2, job: current, versions: [oldest, older] })
const there = overlayView(view, 7, [
  put('jobs', next),
  put('job_versions', next),
  remove('job_versions', jobVersionKey('default', 'web', 0)),
])

test('overlay: returns the new job and its new version', () => {
  assert.equal(there.index, 7)
  assert.equal(there.findJob('default', 'web'), next)
  assert.equal(there.jobVersionOf(anAllocation({ job: next })), next)
  assert.equal(there.jobVersionOf(anAllocation({ job: older })), older)
})

test('overlay: omits deleted versions and keeps the order of the others', () => {
  assert.deepEqual(
    there.versionsOf('default', 'web').map(({ Version }) => Version),
    [1, 2, 3],
  )
})

test('overlay: other jobs and objects are unchanged', () => {
  assert.equal(there.findJob('default', 'other'), undefined)
  assert.deepEqual(there.versionsOf('other', 'web'), [])
  assert.deepEqual(there.readyNodes('default'), view.readyNodes('default'))
  assert.deepEqual(there.settingsFor('default'), view.settingsFor('default'))
})

test('overlay: the underlying view is unchanged', () => {
  assert.equal(view.findJob('default', 'web'), current)
  assert.equal(view.versionsOf('default', 'web').length, 3)
})
