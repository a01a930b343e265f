import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HostVolumeInput } from '@reeve/contract'
import { formatProblems } from './diagnostics.ts'
import { parseVolumeFile } from './parse-job-file.ts'

function parsed(text: string): HostVolumeInput {
  const result = parseVolumeFile({ file: 'volume.hcl', text })
  assert.ok(result.ok, JSON.stringify(result))
  return result.value
}

const FULL = `
type         = "host"
name         = "data"
namespace    = "shop"
id           = "8a7f"
plugin_id    = "mkdir"
node_pool    = "disks"
node_id      = "n1"
host_path    = "/srv/data"
capacity     = 100
capacity_min = "10GiB"
capacity_max = "20 GB"

capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}
capability {
  access_mode = "single-node-reader-only"
}
constraint {
  attribute = "\${attr.kernel.name}"
  value     = "linux"
}
constraint {
  is_set = "\${meta.rack}"
}
parameters {
  mode = "0750"
  uid  = 1000
}
`

test('parseVolumeFile: every attribute and block becomes its field of the API', () => {
  assert.deepEqual(parsed(FULL), {
    Name: 'data',
    Namespace: 'shop',
    ID: '8a7f',
    PluginID: 'mkdir',
    NodePool: 'disks',
    NodeID: 'n1',
    HostPath: '/srv/data',
    CapacityBytes: 100,
    RequestedCapacityMinBytes: 10 * 1024 ** 3,
    RequestedCapacityMaxBytes: 20 * 1000 ** 3,
    RequestedCapabilities: [
      { AccessMode: 'single-node-writer', AttachmentMode: 'file-system' },
      { AccessMode: 'single-node-reader-only', AttachmentMode: null },
    ],
    Constraints: [
      { LTarget: '${attr.kernel.name}', Operand: '=', RTarget: 'linux' },
      { LTarget: '${meta.rack}', Operand: 'is_set', RTarget: null },
    ],
    Parameters: { mode: '0750', uid: '1000' },
  })
})

test('parseVolumeFile: the JSON form of the language', () => {
  assert.deepEqual(parsed('{"name": "data", "parameters": {"mode": "0700"}}'), {
    Name: 'data',
    Parameters: { mode: '0700' },
  })
})

for (const [text, problem] of [
  ['type = "csi"', /volume\.hcl:1,8-13: Unsupported volume type; type "csi" is not supported/],
  ['capacity_min = "much"', /volume\.hcl:1,16-22: Invalid size; A size such as 10GiB/],
  ['capabilities {}', /Unsupported block type/],
  ['nam = "data"', /Unsupported argument.*"name"/],
  ['name = local.x', /volume\.hcl:1,8-/],
] as const)
  test(`parseVolumeFile: ${text} is rejected with its position`, () => {
    const result = parseVolumeFile({ file: 'volume.hcl', text })
    assert.ok(!result.ok)
    assert.match(formatProblems(result.error), problem)
  })
