// The one function of fflate that the package ships. The build makes `loadInflate()` of it, which answers what is exported here.
export { inflateSync } from "fflate";
