export {
  endToEndHeaders,
  hasRequestBody,
  InFlightExchanges,
  joinUpgraded,
  onClientDisconnect,
  onConnected,
  pipeRequestBody,
  rejectUpgrade,
  relayResponse,
  relayUpgradeResponse,
  setConnectTimeout,
  UPSTREAM_POOL,
} from './reverse-proxy.ts'
