import { aJobText } from '../../build/job-text.ts'
import type { Row, Story } from './story.ts'

const SERVED = aJobText({
  id: 'served',
  group:
    'network {\n port "http" {}\n}\nservice {\n name = "served"\n port = "http"\n provider = "service"\n}',
})

/** A volume, from its file to its end. */
const VOLUME_ROWS: readonly Row[] = [
  { line: 'volume list', says: /^There are no volumes\./ },
  {
    line: 'volume init',
    says: /^volume\.hcl written\. Next:\n\n  reeve volume create volume\.hcl\n/,
  },
  {
    line: 'volume create volume.hcl',
    says: /^Volume "shop-data" \(\w{8}\) is created: \/\S+ on node \w{8}\.\nJobs in namespace "default" can mount it\.\n$/,
  },
  {
    line: 'volume list --plugin mkdir',
    says: /^ID +Name +Plugin +Node pool +Node +Size +State\n\w{8} +shop-data +mkdir +default +\w{8} +ready\n$/,
  },
  {
    line: 'volume show shop-data',
    says: /\nName += shop-data\n[^]*\nParameters += mode=0750\n[^]*\n\nNo allocation mounts the volume\.\n$/,
  },
  {
    line: 'volume delete shop-data',
    code: 1,
    warns: /with its data on node \S+\? Cannot ask[^]*--yes/,
  },
  { line: 'volume delete --yes shop-data', says: /^Volume "shop-data" is deleted\.\n$/ },
  {
    line: 'volume register -',
    input: 'name = "tmp"\nhost_path = "/tmp"\n',
    code: 1,
    warns: /NodeID must name the node/,
  },
]

/** The whole cluster: nothing else may run beside it. */
export const clusterStory: Story = {
  name: 'the cluster',
  files: { 'served.hcl': SERVED },
  rows: [
    { line: 'job run served.hcl', says: /is successful/, warns: /have no shutdown_delay/ },
    {
      line: 'service list',
      isAwaited: true,
      says: /^Name +Namespace +Instances +Failing +Tags\nserved +default +1 +0\n$/,
    },
    {
      line: ['service', 'info', '-t', '{{ (index . 0).ID }} {{ (index . 0).Address }}', 'served'],
      says: /^\S+ 127\.0\.0\.1\n$/,
      keeps: { instance: /^(\S+) / },
    },
    { line: 'service delete served {instance}', says: /is no longer registered\.\n$/ },
    { line: 'search serve', says: /\njobs +served\n/ },
    { line: 'top', says: /Nodes[^]*one/ },
    { line: 'event stream', leavesAt: /"Topic":"Job"/, code: 130 },
    { line: 'ui', says: /^http:\S+\/ui\/sign-in\?ott=/, warns: /^It signs in once/ },
    {
      line: 'audit list --action registerJob',
      says: /^Time +Who[^]* registerJob +served +default +200/,
    },
    {
      line: 'doctor',
      says: /The server of the agent at http\S+ says: ok\n[^]*1 node of 1 can run allocations/,
    },
    { line: 'server members', says: /\n\S+ +127\.0\.0\.1:\d+ +alive +leader / },
    { line: 'agent info', says: /^Name +=[^]*\nserver\n[^]*leader/ },
    {
      line: 'server force-leave --prune nobody',
      code: 6,
      warns: /server "nobody" is unknown or not alive/,
    },
    { line: 'operator snapshot save all.snapshot', says: /^Saved the state at index \d+ / },
    { line: 'operator snapshot inspect all.snapshot', says: /\njobs +\d+\n/ },
    {
      line: 'operator upgrade status',
      says: /^Cluster level += \d+\.\d+\n[^]*There is no upgrade to finish\.\n$/,
    },
    { line: 'operator upgrade finish', says: /^The cluster level is \d+\.\d+ already\./ },
    { line: 'operator database accept-loss', code: 1, warns: /there is no database/ },
    { line: 'operator scheduler set-config --pause-eval-broker true', says: /./ },
    {
      line: 'operator scheduler get-config',
      says: /^Algorithm += binpack\n[^]*\nEvaluation broker += paused\n/,
    },
    {
      line: ['eval', 'delete', '--filter', 'JobID == "served"'],
      says: /^Deleted \d+ evaluations?\.\n$/,
    },
    { line: 'operator scheduler set-config --pause-eval-broker false', says: /./ },
    { line: 'operator api /v1/status/leader', says: /^"127\.0\.0\.1:\d+"/ },
    {
      line: [
        'operator',
        'api',
        '--method',
        'PUT',
        '--include',
        '--header',
        'X-Test: 1',
        '/v1/system/gc',
      ],
      says: /^HTTP 200\nX-Service-Index: \d+\n/,
    },
    {
      line: ['operator', 'api', '--data', '{"Prefix":"serv","Context":"jobs"}', '/v1/search'],
      says: /"served"/,
    },
    { line: 'operator api /v1/job/none', code: 1, says: /not found/, warns: /answered 404/ },
    { line: 'operator debug bundle', says: /^\d+ files written to bundle\.\n$/ },
    { line: 'system reconcile summaries', says: /^Job summaries are being recomputed\.\n$/ },
    { line: 'system gc', says: /^Garbage collection started/ },
    { line: 'node status one', says: /\nName += one\n[^]*\nraw_exec +healthy/ },
    {
      line: 'node meta apply one rack=r7 ssd=true',
      says: /^The metadata of node \w{8} \(one\) is updated\.\n[^]*\nrack +r7 +request\n/,
    },
    {
      line: 'node meta apply --unset ssd one',
      says: /\n\nKey +Value +Source\nrack +r7 +request\n$/,
    },
    { line: 'node meta read one', says: /^Key +Value +Source\nrack +r7 +request\n$/ },
    {
      line: ['node', 'status', '-t', '{{ .Meta.rack }}', 'one'],
      says: /^r7\n?$/,
      isAwaited: true,
    },
    ...VOLUME_ROWS,
    {
      line: 'node eligibility --disable one',
      says: /\(one\) is ineligible: it takes no new allocations/,
    },
    {
      line: 'node drain --enable --deadline 20s one',
      says: /The drain of node \w{8} \(one\) is complete\.\n$/,
    },
    {
      line: 'node drain --disable one',
      says: /\(one\) is no longer draining and takes new allocations/,
    },
    { line: 'job stop --purge served', says: /purged/ },
    {
      line: 'node join-token create --ttl 10m --pool default --name two',
      says: /^ID += \S{36}\nSecret += \S{36}\nNode name += two\nNode pool += default\n/,
      warns: /^The secret is shown only once\./,
      keeps: { joinToken: /^ID += (\S+)/ },
    },
    {
      line: 'node join-token list',
      says: /^ID +Node name +Node pool +Created +Expires +Used\n\w{8} +two +default .* no\n$/,
    },
    {
      line: 'node join-token revoke {joinToken}',
      says: /^Join token \w{8} is revoked\.\n$/,
    },
    {
      line: 'node join-token rotate-shared -',
      input: 'a token of sixteen or more\n',
      says: /^Secret += a token of sixteen or more\n$/,
      warns: /^The secret is shown only once\. The shared token before it admits no new nodes\.\n$/,
    },
    { line: 'node rotate-secret one', says: /\(one\) has a new secret; the old one is invalid/ },
    {
      line: 'node revoke --reason stolen one',
      says: /\(one\) is revoked: its allocations are replaced\.\n$/,
      warns: /rotate that token with "reeve node join-token rotate-shared"/,
    },
    {
      line: 'node revocations --verbose',
      says: /^Node +Name +Revoked +Reason\n\S{36} +one +\S+ ago +stolen\n$/,
      keeps: { revoked: /\n(\S+)/ },
    },
    { line: 'node status one', says: /\nStatus += down since / },
    {
      line: 'node unrevoke {revoked}',
      says: /\(one\) is no longer revoked\.\n$/,
      warns: /^It connects with its own secret/,
    },
    { line: 'node status one', says: /\nStatus += ready since /, isAwaited: true },
    { line: 'node purge one', says: /\(one\) is purged/, warns: /^Its agent still runs/ },
  ],
}

export const placesStory: Story = {
  name: 'namespaces, node pools, variables',
  rows: [
    { line: 'namespace apply --description Ours prod', says: /^Namespace "prod" is stored\.\n$/ },
    { line: 'namespace init', says: /^namespace\.hcl written\. Next:\n/ },
    { line: 'namespace apply namespace.hcl', says: /^Namespace "staging" is stored\.\n$/ },
    { line: 'namespace list', says: /\nprod +Ours\n/ },
    { line: 'namespace status prod', says: /^Name += prod\nDescription += Ours\n/ },
    { line: 'namespace inspect prod', says: /"Name": "prod"/ },
    { line: 'namespace delete prod', says: /^Namespace "prod" is deleted\.\n$/ },
    {
      line: 'node pool apply -',
      input: 'node_pool "gpu" {\n  description = "Cards"\n}\n',
      says: /"gpu" is stored/,
    },
    { line: 'node pool list', says: /\ngpu +Cards\n/ },
    { line: 'node pool info gpu', says: /^Name += gpu\nDescription += Cards\n/ },
    { line: 'node pool nodes gpu', says: /^The pool has no nodes\.\n$/ },
    { line: 'node pool jobs gpu', says: /^No job names the pool\.\n$/ },
    { line: 'node pool delete gpu', says: /^Node pool "gpu" is deleted\.\n$/ },
    {
      line: 'var put apps/db user=web password=@-',
      input: 'hush',
      says: /^Variable "apps\/db" is stored/,
    },
    { line: 'var get --item password apps/db', says: /^hush\n$/ },
    {
      line: 'var put --check-index 1 apps/db user=x',
      code: 7,
      warns: /was modified in the meantime[^]*reeve var get/,
    },
    { line: 'var init db.var.hcl', says: /^db\.var\.hcl written\. Next:\n/ },
    { line: 'var put db.var.hcl', says: /^Variable "apps\/web\/db" is stored/ },
    { line: 'var purge apps/web/db', says: /./ },
    { line: 'var list apps', says: /^Path +Changed[^]*\napps\/db +/ },
    { line: 'var purge apps/db', says: /^Variable "apps\/db" is deleted\.\n$/ },
  ],
}
