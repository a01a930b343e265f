import assert from 'node:assert/strict'
import test from 'node:test'
import { anAgentConfig } from '../../test/build/agent-config.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { explainStartFailure } from './run-agent.ts'

function systemError(fields: object): Error {
  return Object.assign(new Error('system said no'), fields)
}

const cases = [
  {
    name: 'the file system is read-only',
    thrown: systemError({ code: 'EROFS', syscall: 'open', path: '/data/server' }),
    says: /^Reeve could not start.*is read-only.*repair and remount it\.$/,
  },
  {
    name: 'the port is taken',
    thrown: systemError({ code: 'EADDRINUSE', syscall: 'listen' }),
    says: /^Port 4646 of 127\.0\.0\.1 is in use.* --http-port\.$/,
  },
  {
    name: 'the port is taken, told by a fault around it',
    thrown: new Fault('http', 'cannot listen', {
      cause: systemError({ code: 'EADDRINUSE', syscall: 'listen' }),
    }),
    says: /^Port 4646/,
  },
  {
    name: 'the port is a low one',
    thrown: systemError({ code: 'EACCES', syscall: 'listen' }),
    says: /may not open port 4646.* above 1023/,
  },
  {
    name: 'the address belongs to another machine',
    thrown: systemError({ code: 'EADDRNOTAVAIL', syscall: 'listen' }),
    says: /^127\.0\.0\.1 is not an address of this machine\..* --bind\.$/,
  },
  {
    name: 'the host name leads nowhere',
    thrown: systemError({ code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname: '127.0.0.1' }),
    says: /leads to no address.* --bind/,
  },
  {
    name: 'the host name of the database leads nowhere',
    thrown: new Fault('storage-failed', 'The database has a name that cannot be resolved.', {
      cause: systemError({ code: 'EAI_AGAIN', syscall: 'getaddrinfo', hostname: 'db.example' }),
    }),
    says: /^The database has a name that cannot be resolved\.$/,
  },
  {
    name: 'the data directory is locked',
    thrown: new Fault(
      'storage-locked',
      'The data directory is in use by process 7. Stop it first.',
    ),
    says: /^The data directory is in use by process 7\. Stop it first\.$/,
  },
  {
    name: 'the directory of the agent is locked, whatever the cause',
    thrown: new Fault('agent-locked', 'Another agent is using /data/client/agent (pid 7).', {
      cause: systemError({ code: 'EADDRINUSE', syscall: 'listen' }),
    }),
    says: /^Another agent is using \/data\/client\/agent \(pid 7\)\.$/,
  },
  {
    name: 'a directory may not be written',
    thrown: systemError({ code: 'EACCES', syscall: 'mkdir', path: '/data' }),
    says: /system said no\. Give the account that runs it the right to use \/data/,
  },
  {
    name: 'the disk is full, said without a path',
    thrown: systemError({ code: 'ENOSPC', syscall: 'write' }),
    says: /system said no\. Free space on the disk of \/\S+, then start again\.$/,
  },
  {
    name: 'the disk is too full for the state of a node',
    thrown: new Fault('agent-state', 'cannot write /data/node.json: full', {
      cause: systemError({ code: 'ENOSPC', syscall: 'write' }),
    }),
    says: /^cannot write \/data\/node\.json: full\. Free space on the disk of /,
  },
  {
    name: 'another system call failed',
    thrown: systemError({ code: 'EMFILE', syscall: 'open' }),
    says: /^Reeve could not start: system said no\.$/,
  },
]

for (const { name, thrown, says } of cases)
  test(`start failure: ${name}`, () => {
    assert.match(explainStartFailure(thrown, anAgentConfig()) ?? '', says)
  })

test('start failure: a mistake of ours has no explanation', () => {
  assert.equal(explainStartFailure(new TypeError('x is undefined'), anAgentConfig()), undefined)
  assert.equal(explainStartFailure('text', anAgentConfig()), undefined)
})

test('start failure: causes in a circle end', () => {
  const one = new Error('one')
  one.cause = one
  assert.equal(explainStartFailure(one, anAgentConfig()), undefined)
})
