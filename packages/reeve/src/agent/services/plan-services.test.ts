import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allocationId, anAssignment } from '../../../test/build/agent.ts'
import { aCheck, aService } from '../../../test/build/service.ts'
import { type AddressSources, planServices } from './plan-services.ts'

const { allocation } = anAssignment({
  allocation: {
    AllocatedResources: {
      Tasks: {},
      TaskLifecycles: {},
      Shared: {
        Networks: null,
        DiskMB: 0,
        Ports: [
          { Label: 'http', Value: 20_001, To: 8_080, HostIP: '10.0.0.5' },
          { Label: 'raw', Value: 20_002, To: 0, HostIP: '' },
        ],
      },
    },
  },
})

const AROUND: AddressSources = {
  allocation,
  task: '',
  hostIp: '10.0.0.1',
  driver: undefined,
  allocationIp: undefined,
}
const DRIVER = { ip: '172.17.0.2', ports: { http: 80 } }

function plan(service: Parameters<typeof aService>[0], around: Partial<AddressSources> = {}) {
  return planServices({
    assignment: { ...anAssignment({ job: { Name: 'shop' } }), allocation },
    services: [aService(service)],
    task: around.task ?? '',
    addressSources: { ...AROUND, ...around },
    resolveReferences: (text) => text.replaceAll('${node.rack}', 'r1'),
  })
}

const addresses = [
  { mode: 'auto', port: 'http', want: ['10.0.0.5', 20_001] },
  { mode: 'auto', port: '', want: ['10.0.0.1', 0] },
  { mode: 'auto', port: '9000', driver: DRIVER, want: ['172.17.0.2', 9_000] },
  { mode: '', port: 'raw', want: ['10.0.0.1', 20_002] },
  { mode: 'host', port: 'http', driver: DRIVER, want: ['10.0.0.5', 20_001] },
  { mode: 'driver', port: 'http', driver: DRIVER, want: ['172.17.0.2', 80] },
  { mode: 'driver', port: 'raw', driver: DRIVER, want: ['172.17.0.2', 20_002] },
  { mode: 'alloc', port: 'http', ip: '172.26.0.9', want: ['172.26.0.9', 8_080] },
  { mode: 'alloc', port: '9000', ip: '172.26.0.9', want: ['172.26.0.9', 9_000] },
  { mode: 'auto', port: 'http', address: 'shop.example', want: ['shop.example', 20_001] },
  { mode: 'auto', port: '443', address: 'shop.example', want: ['shop.example', 443] },
]
for (const { mode, port, driver, ip, address = '', want } of addresses)
  test(`address mode "${mode}" with port "${port}" gives ${want.join(':')}`, () => {
    const service = { AddressMode: mode, PortLabel: port, Address: address }
    const [planned] = plan(service, { driver, allocationIp: ip })
    assert.deepEqual([planned?.registration.Address, planned?.registration.Port], want)
  })

const impossible = [
  { mode: 'driver', port: 'http', text: /the driver gave the task no address/ },
  { mode: 'alloc', port: 'http', text: /the allocation has no network of its own/ },
  { mode: 'host', port: 'admin', text: /the port "admin" of a service does not exist/ },
]
for (const { mode, port, text } of impossible)
  test(`address mode "${mode}" with port "${port}" reports what is missing`, () => {
    assert.throws(() => plan({ AddressMode: mode, PortLabel: port }), text)
  })

test('names and tags are resolved, and the id names allocation, owner, service and port', () => {
  const service = { Name: '${BASE}-${TASK}', PortLabel: 'http', Tags: ['${node.rack}', '${JOB}'] }
  const [planned] = plan(service, { task: 'front' })
  assert.deepEqual(planned?.registration, {
    ID: `_reeve-task-${allocationId(1)}-front-shop-group-front-front-http`,
    ServiceName: 'shop-group-front-front',
    Tags: ['r1', 'shop'],
    Address: '10.0.0.5',
    Port: 20_001,
  })
  const [ofGroup] = plan({ Name: '${JOB}-${TASKGROUP}' })
  assert.equal(ofGroup?.registration.ID, `_reeve-task-${allocationId(1)}-group-group-shop-group-`)
})

const tags = [
  { name: 'its tags', canary: false, CanaryTags: ['trial'], want: ['a'] },
  { name: 'the tags of a canary', canary: true, CanaryTags: ['trial'], want: ['trial'] },
  { name: 'its tags when a canary has none', canary: true, CanaryTags: null, want: ['a'] },
]
for (const { name, canary, CanaryTags, want } of tags)
  test(`a service has ${name}`, () => {
    const status = { Healthy: null, Timestamp: '', Canary: canary, ModifyIndex: 0 }
    const assignment = {
      ...anAssignment(),
      allocation: { ...allocation, DeploymentStatus: status },
    }
    const services = [aService({ Tags: ['a'], CanaryTags })]
    const resolve = (text: string) => text
    const [planned] = planServices({
      assignment,
      services,
      task: '',
      addressSources: AROUND,
      resolveReferences: resolve,
    })
    assert.deepEqual(planned?.registration.Tags, want)
  })

test('a check uses the address of its service unless it sets its own', () => {
  const Checks = [aCheck(), aCheck({ PortLabel: 'raw' }), aCheck({ Type: 'script' })]
  const [planned] = plan({ PortLabel: 'http', Checks })
  assert.deepEqual(
    planned?.checks.map(({ at }) => at?.port),
    [20_001, 20_002, undefined],
  )
  assert.equal(new Set(planned.checks.map(({ id }) => id)).size, 3)
})

test('services of an external catalogue are left alone', () => {
  assert.deepEqual(plan({ Provider: 'discovery' }), [])
  assert.equal(plan({ Provider: 'native' }).length, 1)
})
