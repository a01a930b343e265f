import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Job } from '@reeve/contract'
import { formatDiagnostic } from '@reeve/hcl'
import { canonicalizeJob, validateJob } from '../model/index.ts'
import { parseJobFile } from './parse-job-file.ts'

/** Job files with common combinations of blocks, second half. */

const request = { file: 'input.hcl', strict: true, files: undefined, random: { next: () => 0 } }

function parse(text: string) {
  const result = parseJobFile({ ...request, text })
  assert.ok(result.ok, result.ok ? '' : result.error.map(formatDiagnostic).join('\n'))
  return result.value
}

/** Returns the canonical job and asserts that it is valid. */
function read(text: string): Job {
  const { job } = parse(text)
  const full = canonicalizeJob(job, { region: 'global', namespace: 'default', nodePool: 'default' })
  assert.equal(
    validateJob(full)
      .list.map(({ message }) => message)
      .join('\n'),
    '',
  )
  return full
}

test('file 7: every operand, affinities and spreads', () => {
  const operators = [
    '=',
    '==',
    'is',
    '!=',
    'not',
    '<',
    '<=',
    '>',
    '>=',
    'regexp',
    'version',
    'semver',
    'set_contains',
    'set_contains_all',
    'set_contains_any',
  ]
  const rules = operators.map(
    (operator) =>
      `constraint {\nattribute = "\${attr.x}"\noperator = "${operator}"\nvalue = "1.0.0"\n}`,
  )
  const job = read(`job "zoo" {
    ${rules.join('\n')}
    constraint { distinct_hosts = true }
    constraint {
      distinct_property = "\${meta.rack}"
      value             = "2"
    }
    affinity {
      attribute = "\${node.class}"
      value     = "slow"
      weight    = -30
    }
    spread {
      attribute = "\${node.datacenter}"
      weight    = 80
      target "dc1" { percent = 60 }
      target "dc2" { percent = 20 }
    }
    spread { attribute = "\${meta.rack}" }
    group "g" {
      task "t" { driver = "mock_driver" }
    }
  }`)
  assert.deepEqual(
    job.Constraints?.map((rule) => rule.Operand),
    [...operators, 'distinct_hosts', 'distinct_property'],
  )
  assert.equal(job.Affinities?.[0]?.Weight, -30)
  assert.deepEqual(
    job.Spreads?.map(({ Weight, SpreadTarget }) => [Weight, SpreadTarget?.length ?? 0]),
    [
      [80, 2],
      [50, 0],
    ],
  )
})

test('file 8: the life of tasks', () => {
  const hook = (name: string, hookName: string, sidecar: boolean) =>
    `task "${name}" {\ndriver = "mock_driver"\nlifecycle {\nhook = "${hookName}"\nsidecar = ${sidecar}\n}\n}`
  const job = read(`job "life" {
    group "g" {
      shutdown_delay = "3s"
      ${hook('init', 'prestart', false)}
      ${hook('proxy', 'prestart', true)}
      ${hook('warm', 'poststart', false)}
      ${hook('clean', 'poststop', false)}
      task "main" {
        driver      = "mock_driver"
        leader      = true
        kill_signal = "SIGINT"
      }
    }
  }`)
  const [group] = job.TaskGroups
  assert.equal(group?.ShutdownDelay, 3e9)
  assert.deepEqual(
    group?.Tasks.map(({ Name, Lifecycle }) => [Name, Lifecycle?.Hook, Lifecycle?.Sidecar]),
    [
      ['init', 'prestart', false],
      ['proxy', 'prestart', true],
      ['warm', 'poststart', false],
      ['clean', 'poststop', false],
      ['main', undefined, undefined],
    ],
  )
})

test('file 9: restarts and rescheduling', () => {
  const job = read(`job "again" {
    reschedule {
      delay          = "10s"
      delay_function = "fibonacci"
      max_delay      = "2m"
      unlimited      = true
    }
    group "wait" {
      restart {
        attempts = 3
        interval = "5m"
        delay    = "10s"
        mode     = "delay"
      }
      task "t" { driver = "mock_driver" }
    }
    group "fail" {
      restart {
        attempts = 0
        mode     = "fail"
      }
      reschedule {
        attempts  = 2
        interval  = "1h"
        unlimited = false
      }
      task "t" { driver = "mock_driver" }
    }
  }`)
  const [wait, fail] = job.TaskGroups
  assert.equal(wait?.RestartPolicy.Mode, 'delay')
  assert.deepEqual(
    [wait?.ReschedulePolicy?.DelayFunction, wait?.ReschedulePolicy?.MaxDelay],
    ['fibonacci', 120e9],
  )
  assert.deepEqual(
    [
      fail?.ReschedulePolicy?.Attempts,
      fail?.ReschedulePolicy?.Unlimited,
      fail?.ReschedulePolicy?.Delay,
    ],
    [2, false, 10e9],
  )
})

test('file 10: periodic, and the same switched off', () => {
  const text = (enabled: boolean) => `job "nightly" {
    type = "batch"
    periodic {
      crons            = ["0 2 * * *", "30 14 * * 1-5"]
      time_zone        = "Europe/Berlin"
      prohibit_overlap = true
      enabled          = ${enabled}
    }
    task "t" { driver = "mock_driver" }
  }`
  for (const enabled of [true, false])
    assert.deepEqual(read(text(enabled)).Periodic, {
      Enabled: enabled,
      Spec: '',
      Specs: ['0 2 * * *', '30 14 * * 1-5'],
      SpecType: 'cron',
      ProhibitOverlap: true,
      TimeZone: 'Europe/Berlin',
    })
})

test('file 11: parameterized', () => {
  const job = read(`job "render" {
    type = "batch"
    parameterized {
      payload       = "required"
      meta_required = ["input"]
      meta_optional = ["profile"]
    }
    task "t" {
      driver = "mock_driver"
      dispatch_payload { file = "in.json" }
    }
  }`)
  assert.deepEqual(job.ParameterizedJob, {
    Payload: 'required',
    MetaRequired: ['input'],
    MetaOptional: ['profile'],
  })
  assert.equal(job.TaskGroups[0]?.Tasks[0]?.DispatchPayload?.File, 'in.json')
})

test('file 12: a system job with canaries and a host volume', () => {
  const job = read(`job "agentry" {
    type = "system"
    constraint {
      attribute = "\${node.class}"
      value     = "edge"
    }
    update { canary = 50 }
    group "g" {
      volume "logs" {
        type      = "host"
        source    = "logs"
        read_only = true
      }
      task "t" {
        driver = "mock_driver"
        volume_mount {
          volume      = "logs"
          destination = "/logs"
        }
      }
    }
  }`)
  const [group] = job.TaskGroups
  assert.equal(group?.Update?.Canary, 50)
  assert.deepEqual(
    [group?.Volumes?.['logs']?.Source, group?.Volumes?.['logs']?.ReadOnly],
    ['logs', true],
  )
  assert.equal(group?.Tasks[0]?.VolumeMounts?.[0]?.Destination, '/logs')
})

test('the negative file: everything wrong with the job leads to its line', () => {
  const { job, positions } = parse(`job "bad job" {
  type     = "nonsense"
  priority = 500
  group "g" {
    count = -1
    network {
      port "a" { static = 70000 }
    }
    restart {
      mode = "never"
    }
    task "alloc" {
      kill_timeout = "-1s"
      resources {
        memory = 1
      }
      lifecycle {
        hook = "sometime"
      }
    }
  }
}`)
  const full = canonicalizeJob(job, { region: 'global', namespace: 'default', nodePool: 'default' })
  const { list } = validateJob(full)
  const lines = list.map(({ path }) => positions.find(path).start.line)
  assert.ok(list.length >= 9)
  for (const line of [1, 2, 3, 5, 7, 10, 13, 15, 18]) assert.ok(lines.includes(line), String(line))
})
