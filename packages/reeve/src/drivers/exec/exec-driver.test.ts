import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolveTaskAccount, type AccountPolicy } from './exec-driver.ts'

const host = {
  users: [
    { name: 'root', uid: 0, gid: 0 },
    { name: 'daemon', uid: 1, gid: 1 },
    { name: 'operator', uid: 11, gid: 0 },
    { name: 'postgres', uid: 101, gid: 104 },
    { name: 'builder', uid: 1000, gid: 1000 },
    { name: 'keeper', uid: 1001, gid: 42 },
    { name: 'nobody', uid: 65_534, gid: 65_534 },
  ],
  groups: [
    { name: 'root', gid: 0, members: ['builder'] },
    { name: 'daemon', gid: 1, members: [] },
    { name: 'disk', gid: 6, members: ['root'] },
    { name: 'shadow', gid: 42, members: [] },
    { name: 'video', gid: 44, members: ['builder'] },
    { name: 'ssl-cert', gid: 103, members: ['postgres'] },
    { name: 'postgres', gid: 104, members: [] },
    { name: 'docker', gid: 999, members: ['builder'] },
    { name: 'builder', gid: 1000, members: ['builder'] },
    { name: 'nogroup', gid: 65_534, members: [] },
  ],
}

const policy: AccountPolicy = {
  denyUsers: ['root', '0'],
  denyGroups: ['root', 'shadow', 'docker', '103'],
  allowGroups: [],
}

const accepted = [
  { name: 'a name has its primary group', wanted: 'nobody', ids: [65_534, 65_534], groups: [] },
  { name: 'a number is the account with it', wanted: '65534', ids: [65_534, 65_534], groups: [] },
  {
    name: 'supplementary groups stay, denied ones are dropped',
    wanted: 'builder',
    ids: [1000, 1000],
    groups: [44, 1000],
  },
  {
    name: 'a group denied by its number is dropped',
    wanted: 'postgres',
    ids: [101, 104],
    groups: [],
  },
  {
    name: 'a pair with the primary group is the account',
    wanted: '1000:1000',
    ids: [1000, 1000],
    groups: [44, 1000],
  },
  {
    name: 'a pair may name a supplementary group',
    wanted: '1000:44',
    ids: [1000, 44],
    groups: [44, 1000],
  },
  {
    name: 'a pair may name a group that the node allows',
    wanted: '65534:44',
    ids: [65_534, 44],
    groups: [],
    more: { allowGroups: ['video'] },
  },
  {
    name: 'a number without an account runs in a group that the node allows',
    wanted: '4242:4343',
    ids: [4242, 4343],
    groups: [],
    more: { allowGroups: ['4343'] },
  },
  {
    name: 'a node may allow all groups',
    wanted: '4242:4343',
    ids: [4242, 4343],
    groups: [],
    more: { allowGroups: ['all'] },
  },
  {
    name: 'root keeps its groups where the node allows root',
    wanted: 'root',
    ids: [0, 0],
    groups: [6],
    more: { denyUsers: [] },
  },
]
for (const { name, wanted, ids, groups, more } of accepted)
  test(`task account: ${name}`, () => {
    const account = resolveTaskAccount(wanted, host, { ...policy, ...more })
    assert.deepEqual([account.uid, account.gid], ids)
    assert.deepEqual(account.groups, groups)
  })

const DENIED_GROUP = /^group .* is not allowed on this node \(plugin "exec", denied_groups\)$/
const FOREIGN_GROUP = /^group \d+ is not a group of user \d+ on this node: .*allow_groups\)$/
const DENIED_USER = /^user .* is not allowed on this node \(plugin "exec", denied_users\)$/

const refusals = [
  { name: 'a denied user by name', wanted: 'root', says: DENIED_USER },
  { name: 'a denied user by number', wanted: '0', says: DENIED_USER },
  { name: 'a denied user in a pair', wanted: '0:65534', says: DENIED_USER },
  {
    name: 'a user that is denied by name, asked for by number in a pair',
    wanted: '1:1',
    says: DENIED_USER,
    more: { denyUsers: ['daemon'] },
  },
  { name: 'a group of somebody else', wanted: '65534:44', says: FOREIGN_GROUP },
  { name: 'the group of root', wanted: '65534:0', says: FOREIGN_GROUP },
  { name: 'a pair that is no account', wanted: '4242:4242', says: FOREIGN_GROUP },
  { name: 'a denied primary group', wanted: 'keeper', says: DENIED_GROUP },
  { name: 'a primary group of root', wanted: 'operator', says: DENIED_GROUP },
  { name: 'a denied supplementary group in a pair', wanted: '1000:999', says: DENIED_GROUP },
  {
    name: 'a denied group, even where the node allows all',
    wanted: '65534:42',
    says: DENIED_GROUP,
    more: { allowGroups: ['all'] },
  },
  {
    name: 'group 0, even where the node denies and allows otherwise',
    wanted: '65534:0',
    says: DENIED_GROUP,
    more: { denyGroups: [], allowGroups: ['all', '0', 'root'] },
  },
  {
    name: 'a foreign group of root where the node allows root',
    wanted: '0:42',
    says: FOREIGN_GROUP,
    more: { denyUsers: [] },
  },
]
for (const { name, wanted, says, more } of refusals)
  test(`task account: ${name} is refused`, () => {
    assert.throws(() => resolveTaskAccount(wanted, host, { ...policy, ...more }), {
      kind: 'task-config',
      message: says,
    })
  })

test('task account: a name that does not exist is named', () => {
  assert.throws(() => resolveTaskAccount('nope', host, policy), {
    kind: 'task-unstartable',
    message: 'user "nope" does not exist on this node',
  })
})
