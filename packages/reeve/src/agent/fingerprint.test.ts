import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { cpus, hostname } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { NodeResources } from '@reeve/contract'
import { Value } from 'typebox/value'
import { temporaryDirectory } from '../../test/build/temporary-directory.ts'
import {
  parseDefaultRouteDevice,
  fingerprint,
  fastestCoreMhz,
  parseOsRelease,
} from './fingerprint.ts'

test('this machine is described in the shape of the contract, with real values', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const found = await fingerprint({ dataDir, version: '1.2.3' })
  assert.ok(Value.Check(NodeResources, found.NodeResources))
  assert.equal(found.NodeResources.Cpu.TotalCpuCores, cpus().length)
  assert.ok(found.NodeResources.Cpu.CpuShares >= cpus().length)
  assert.ok(found.NodeResources.Memory.MemoryMB > 0)
  assert.ok(found.NodeResources.Disk.DiskMB > 0)
  assert.equal(found.Attributes['kernel.name'], 'linux')
  assert.equal(found.Attributes['unique.hostname'], hostname())
  assert.equal(found.Attributes['service.version'], '1.2.3')
  assert.notEqual(found.Attributes['unique.network.ip-address'], '')
  for (const value of Object.values(found.Attributes)) assert.equal(typeof value, 'string')
})

test('the operator may choose the address', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const { NodeResources: found } = await fingerprint({
    dataDir,
    version: '1',
    address: '127.0.0.1',
  })
  assert.equal(found.Networks?.[0]?.IP, '127.0.0.1')
  assert.equal(found.Networks?.[0]?.Device, 'lo')
})

test('plug-ins of CNI networks are attributes', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const plugin = join(dataDir, 'bridge')
  await writeFile(plugin, '#!/bin/sh\necho CNI bridge plugin v1.5.1\n', { mode: 0o755 })
  const found = await fingerprint({ dataDir, version: '1', cniDirectories: [dataDir] })
  assert.equal(found.Attributes['plugins.cni.version.bridge'], '1.5.1')
})

test('the fastest core counts', () => {
  const text = 'processor\t: 0\ncpu MHz\t\t: 800.004\nprocessor\t: 1\ncpu MHz\t\t: 2599.998\n'
  assert.equal(fastestCoreMhz(text), 2600)
  assert.equal(fastestCoreMhz('processor : 0\nBogoMIPS : 50.00\n'), undefined)
})

test('os-release values are parsed with and without quotes', () => {
  assert.deepEqual(parseOsRelease('ID=debian\nVERSION_ID="12"\nHOME_URL="x=y"\n'), {
    name: 'debian',
    version: '12',
  })
  assert.deepEqual(parseOsRelease(''), { name: '', version: '' })
})

test('of several default routes the cheapest is taken', () => {
  const table = [
    'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT',
    'wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0',
    'eth0\t00000000\t0100A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0',
    'eth1\t0000A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0',
  ].join('\n')
  assert.equal(parseDefaultRouteDevice(table), 'eth0')
  assert.equal(parseDefaultRouteDevice(''), undefined)
})
