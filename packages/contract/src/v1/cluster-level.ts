import * as t from './shared-schemas.ts'
import { put, read, routes } from './define.ts'
import { responseMeta } from './write-response.ts'

export const ClusterLevelResponse = t.Named('ClusterLevelResponse', {
  Level: t.String({
    description:
      'The minor version whose formats are written, such as `1.4`. Older programs do not start on this state.',
  }),
  Possible: t.String({ description: 'The level that all servers of the region support.' }),
  ...responseMeta,
})
export type ClusterLevelResponse = t.Infer<typeof ClusterLevelResponse>

const path = '/operator/cluster/level'

export const clusterLevelRoutes = routes('Operator', {
  readClusterLevel: read(path, {
    summary: 'Read the cluster level.',
    answeredBy: 'leader',
    returns: t.jsonResponse(
      ClusterLevelResponse,
      'The level, and the one that the servers support.',
    ),
    needs: 'operator:read',
  }),
  raiseClusterLevel: put(path, {
    summary: 'Finish an upgrade: raise the cluster level to the version of the servers.',
    audit: 'always',
    growsState: false,
    returns: t.jsonResponse(ClusterLevelResponse, 'The level that is in force now.'),
    errors: { 400: 'A server of the cluster runs an older version.' },
    needs: 'operator:write',
  }),
})
