import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ALL_PERMISSIONS, type AclPermissions } from '../session/acl-permissions.ts'
import { allocationDisabledReason } from './allocation.ts'

type State = Parameters<typeof allocationDisabledReason.stop>[0]

const RUNNING: State = {
  Namespace: 'default',
  ClientStatus: 'running',
  DesiredStatus: 'run',
  TaskStates: {
    main: {
      State: 'running',
      Failed: false,
      Restarts: 0,
      LastRestart: '',
      StartedAt: '',
      FinishedAt: '',
      Events: [],
      TaskHandle: null,
      Paused: '',
    },
  },
}
const READER: AclPermissions = {
  isUnlimited: false,
  rules: [
    {
      Namespaces: [
        {
          Name: 'default',
          Policy: 'read',
          Capabilities: ['read-job', 'read-logs'],
          Variables: null,
        },
      ],
      NodePools: null,
      HostVolumes: null,
      Agent: null,
      Node: null,
      Operator: null,
      Quota: null,
      Plugin: null,
    },
  ],
}

const CASES = [
  { name: 'a running one is stopped', can: allocationDisabledReason.stop, of: RUNNING },
  { name: 'a running one takes a terminal', can: allocationDisabledReason.exec, of: RUNNING },
  {
    name: 'one that ended is not stopped',
    can: allocationDisabledReason.stop,
    of: { ...RUNNING, ClientStatus: 'failed' as const },
    reason: /has ended: it is failed/,
  },
  {
    name: 'one that is being stopped is not stopped again',
    can: allocationDisabledReason.stop,
    of: { ...RUNNING, DesiredStatus: 'stop' as const },
    reason: /already/,
  },
  {
    name: 'one without a running task takes no signal',
    can: allocationDisabledReason.signal,
    of: { ...RUNNING, TaskStates: null },
    reason: /No task/,
  },
  {
    name: 'who may only read does not restart',
    can: allocationDisabledReason.restart,
    of: RUNNING,
    rights: READER,
    reason: /namespace:alloc-lifecycle/,
  },
  {
    name: 'who may only read has no terminal',
    can: allocationDisabledReason.exec,
    of: RUNNING,
    rights: READER,
    reason: /namespace:alloc-exec/,
  },
  {
    name: 'who may read logs reads them',
    can: allocationDisabledReason.readLogs,
    of: RUNNING,
    rights: READER,
  },
  {
    name: 'who may read logs alone does not see files',
    can: allocationDisabledReason.readFiles,
    of: RUNNING,
    rights: READER,
    reason: /namespace:read-fs/,
  },
]

for (const { name, can, of, rights = ALL_PERMISSIONS, reason } of CASES)
  test(`allocation: ${name}`, () => {
    const verdict = can(of, rights)
    if (reason === undefined) assert.equal(verdict, undefined)
    else assert.match(verdict ?? '', reason)
  })
