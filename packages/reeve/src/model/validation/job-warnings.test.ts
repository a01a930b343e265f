import assert from 'node:assert/strict'
import test from 'node:test'
import { aGroup, aJob, aTask } from '../../../test/build/job.ts'
import { jobWarnings } from './job-warnings.ts'

const cases = [
  { name: 'a plain job', job: aJob(), want: [] },
  {
    name: 'more in parallel than there are',
    job: aJob({ groups: [aGroup({ Count: 2, Update: { MaxParallel: 5 } })] }),
    want: [
      'Group "app": Update max parallel count is greater than task group count (5 > 2). A destructive change would result in the simultaneous replacement of all allocations.',
    ],
  },
  {
    name: 'promotion by hand in one group and not in the other',
    job: aJob({
      groups: [
        aGroup({ Name: 'a', Update: { Canary: 1, AutoPromote: true } }),
        aGroup({ Name: 'b', Update: { Canary: 1 } }),
      ],
    }),
    want: ['auto_promote must be true for all groups to enable automatic promotion'],
  },
  {
    name: 'older names',
    job: aJob({
      groups: [
        aGroup({
          MaxClientDisconnect: 1,
          Networks: [{ MBits: 10 }],
          Tasks: [aTask({ Resources: { IOPS: 1, DiskMB: 64, Networks: [{}] } })],
        }),
      ],
    }),
    want: [
      'Group "app": max_client_disconnect is deprecated, use disconnect.lost_after',
      'Group "app": mbits has been deprecated and is ignored',
      'Group "app": Task "main": disk resources of tasks are ignored, use the ephemeral_disk block of the group',
      'Group "app": Task "main": IOPS has been deprecated and is ignored',
      'Group "app": Task "main": task network resources are deprecated, use the network of the group',
    ],
  },
  {
    name: 'a driver that was written without quotes',
    job: aJob({ groups: [aGroup({ Tasks: [aTask({ Driver: '${docker}' })] })] }),
    want: [
      'Group "app": Task "main": driver "${docker}" is a reference, and no node has a driver of that name: write the name in quotes',
    ],
  },
  {
    name: 'whole numbers that lose digits, the first of each map',
    job: aJob({
      groups: [
        aGroup({
          Scaling: { Policy: { check: [{ target: 2 ** 60 }] } },
          Tasks: [aTask({ Config: { port: 80, n: 2 ** 53, more: -(2 ** 60), part: 0.1 } })],
        }),
      ],
    }),
    want: [
      'Group "app": scaling policy check[0].target: whole numbers beyond 2^53 lose digits, and 1152921504606847000 is kept; write it as a string',
      'Group "app": Task "main": config n: whole numbers beyond 2^53 lose digits, and 9007199254740992 is kept; write it as a string',
    ],
  },
  {
    name: 'services that end at once',
    job: aJob({ groups: [aGroup({ Services: [{ Name: 'api' }] })] }),
    want: [
      'Group "app": its services have no shutdown_delay, so callers may reach an allocation that is stopping; set shutdown_delay = "5s" in the group',
    ],
  },
  {
    name: 'services that end after a while',
    job: aJob({ groups: [aGroup({ Services: [{ Name: 'api' }], ShutdownDelay: 1 })] }),
    want: [],
  },
]
for (const { name, job, want } of cases)
  test(`warnings: ${name}`, () => assert.deepEqual(jobWarnings(job), want))
