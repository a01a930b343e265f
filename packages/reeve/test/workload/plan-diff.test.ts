import assert from 'node:assert/strict'
import { test } from 'node:test'
import { annotateDiff, diffJobs } from '../../src/model/index.ts'
import { isDestructiveUpdate } from '../../src/scheduler/reconcile/job-versions.ts'
import { changedAt, fullJob, leafPaths } from '../build/full-job.ts'

test('plan diff: describes what the scheduler does with a changed task', () => {
  const job = fullJob()
  const [group] = job.TaskGroups
  const wrong: string[] = []
  for (const path of leafPaths(job)) {
    if (!path.join('.').startsWith('TaskGroups.0.Tasks.0.') || path[4] === 'Name') continue
    const after = changedAt(job, path)
    const diff = annotateDiff(diffJobs(job, after, { contextual: true }), { desiredUpdates: {} })
    const task = diff.TaskGroups?.[0]?.Tasks?.[0]
    if (task === undefined || task.Type === 'None') continue
    const isReplaced = isDestructiveUpdate(job, after, group?.Name ?? '')
    const wanted = isReplaced ? 'forces create/destroy update' : 'forces in-place update'
    if (task.Annotations?.[0] !== wanted) wrong.push(path.slice(4).join('.'))
  }
  assert.deepEqual(wrong, [])
})
